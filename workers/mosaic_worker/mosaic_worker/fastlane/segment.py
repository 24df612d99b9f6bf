"""This process's view of its run's segment, and the lanes that are its own."""

import fcntl
import mmap
import os
from typing import List, Optional, Set

from mosaic_worker.fastlane import layout
from mosaic_worker.fastlane.lane import Lane
from mosaic_worker.protocol import ENV_FASTLANE

_INTERVAL = "CLEANRL_FASTLANE_INTERVAL_MS"
_MAX_DIM = "CLEANRL_FASTLANE_MAX_DIM"


class Segment:
    """The segment at ``path``.

    A lane is held by a POSIX record lock on the first byte of its header: the kernel lets go of it when the process
    ends, however that is. Closing any descriptor of the file would let go of all of them, so that a process opens it
    once and never closes it.
    """

    def __init__(self, path: str) -> None:
        """Attach.

        Raises:
            OSError: it is gone, or cannot be used on this machine.
        """
        layout.check_byte_order()
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._memory = mmap.mmap(self._fd, 0)
        words = self.words = memoryview(self._memory).cast("Q")
        if self._memory[:8] != layout.MAGIC or words[layout.VERSION_AT >> 3] != layout.VERSION:
            raise OSError(f"{path} is no segment of this version")
        self.lanes = words[layout.LANES_AT >> 3]
        self.capacity = words[layout.CAPACITY_AT >> 3]
        self.interval = _number(_INTERVAL, words[layout.INTERVAL_AT >> 3] / 1e6) / 1e3
        """Seconds from a frame to the next at least."""
        self.max_dim = int(min(_number(_MAX_DIM, 1e9), words[layout.MAX_DIM_AT >> 3]))
        """Pixels of a frame's longer side at most."""
        self._mine: Set[int] = set()

    def claim(self, label: str) -> Optional[Lane]:
        """The first lane that nobody holds; None where there is none."""
        for lane in range(self.lanes):
            if lane not in self._mine and self._take(lane):
                self._mine.add(lane)
                return Lane(self._memory, self._fd, lane, self.capacity, label, self._give_back)
        return None

    def forget(self) -> None:
        """Hold no lane: this process is a fork of the one that does, and record locks are not inherited."""
        self._mine.clear()

    def _take(self, lane: int) -> bool:
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, layout.lane_at(lane, self.capacity))
        except OSError:
            return False
        return True

    def _give_back(self, lane: int) -> None:
        self._mine.discard(lane)
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, layout.lane_at(lane, self.capacity))


_attached: List[Segment] = []


def attach() -> Optional[Segment]:
    """The segment of the run that this process belongs to; None where it has none."""
    path = os.environ.get(ENV_FASTLANE)
    if path and not _attached:
        try:
            _attached.append(Segment(path))
        except (OSError, ValueError):  # training goes on without it
            return None
    return _attached[0] if path else None


def claim(label: str) -> Optional[Lane]:
    """A lane of the run that this process belongs to, for what ``label`` names; None where there is none."""
    segment = attach()
    return segment.claim(label) if segment else None


def _number(variable: str, otherwise: float) -> float:
    try:
        return float(os.environ[variable])
    except (KeyError, ValueError):
        return otherwise


def _after_fork() -> None:
    for segment in _attached:
        segment.forget()


os.register_at_fork(after_in_child=_after_fork)
