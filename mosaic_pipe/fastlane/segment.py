"""The shared memory that an attempt's environments show their frames in: made and removed by its supervisor.

Supervisor and guard hold a lock on the file. Where both were killed at once, the next attempt on the machine finds it
unlocked and removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from pathlib import Path

from mosaic_worker.fastlane import layout

from mosaic_pipe.base.processes import start_mark
from mosaic_pipe.spec.schema import FastlaneSpec


def segment_path(run_id: str, attempt: int) -> Path:
    """Where the segment of an attempt is, on its host, while it runs."""
    return Path(layout.FOLDER) / f"{layout.PREFIX}{run_id}_{attempt}"


class Segment:
    """One attempt's segment; the layout is in :mod:`mosaic_worker.fastlane.layout`."""

    def __init__(self, run_id: str, attempt: int, spec: FastlaneSpec) -> None:
        """Make it.

        Raises:
            OSError: there is no shared memory, or no room in it.
        """
        layout.check_byte_order()
        _remove_abandoned()
        self.path = segment_path(run_id, attempt)
        self.lock = os.open(layout.FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        """Descriptor that holds the lock; the guard inherits it."""
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            _lay_out(self.lock, spec)
            # only now has it a name: whoever sees it sees all of it, and locked
            # (a descriptor of a directory makes Python call linkat(2), which follows the link to the nameless file)
            os.link(f"/proc/self/fd/{self.lock}", self.path, src_dir_fd=self.lock)
        except OSError:
            os.close(self.lock)
            raise

    def remove(self) -> None:
        """Remove it; who has it attached keeps what it shows."""
        self.path.unlink(missing_ok=True)
        os.close(self.lock)


def _lay_out(descriptor: int, spec: FastlaneSpec) -> None:
    lanes = spec.grid_limit if spec.mode == "grid" else spec.slot + 1
    capacity = spec.max_dim * spec.max_dim * 3
    os.ftruncate(descriptor, layout.lane_at(lanes, capacity))
    for start in (0, *(layout.lane_at(lane, capacity) for lane in range(lanes))):
        os.posix_fallocate(descriptor, start, layout.PAGE)  # the writers ask for the rest as they need it
    values = {
        layout.VERSION_AT: layout.VERSION,
        layout.LANES_AT: lanes,
        layout.SLOTS_AT: layout.SLOTS,
        layout.SHOWN_AT: -1 if spec.mode == "grid" else spec.slot,
        layout.INTERVAL_AT: round(spec.interval_ms * 1e6),
        layout.MAX_DIM_AT: spec.max_dim,
        layout.CAPACITY_AT: capacity,
        layout.OWNER_PID_AT: os.getpid(),
        layout.OWNER_STARTED_AT: int((start_mark(os.getpid()).split() or ["0"])[-1]),
    }
    with mmap.mmap(descriptor, layout.PAGE) as header:
        for offset, value in values.items():
            header[offset : offset + 8] = value.to_bytes(8, "little", signed=True)
        header[: len(layout.MAGIC)] = layout.MAGIC


def _remove_abandoned() -> None:
    for path in Path(layout.FOLDER).glob(f"{layout.PREFIX}*"):
        # an OSError: it is locked, somebody else's, or just went away
        with contextlib.suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
