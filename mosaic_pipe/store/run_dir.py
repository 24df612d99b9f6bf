"""One run on disk. The directory is the truth; everything else that knows of runs can be made again from it.

::

    <output_dir>/runs/<run_id>/
        spec.json  manifest.json  packages.txt
        attempts/<n>/owner.json  attempts/<n>/events.jsonl  attempts/<n>/worker.log  attempts/<n>/fastlane/
        checkpoints/  tensorboard/  …what the worker writes
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
from mosaic_worker.files import write_atomically

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.manifest import Manifest

RESERVE_BYTES = 256 * 1024
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class RunDir:
    """The directory of one run, and the files in it that are ours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec_file = path / "spec.json"
        self.manifest_file = path / "manifest.json"
        self.attempts_dir = path / "attempts"
        self._reserve = path / ".reserve"

    def events_file(self, attempt: int) -> Path:
        """The events of one attempt."""
        return self.attempts_dir / str(attempt) / "events.jsonl"

    def log_file(self, attempt: int) -> Path:
        """Everything that the worker and its library printed in one attempt."""
        return self.attempts_dir / str(attempt) / "worker.log"

    def owner_file(self, attempt: int) -> Path:
        """Whose an attempt is."""
        return self.attempts_dir / str(attempt) / "owner.json"

    def stop_file(self, attempt: int) -> Path:
        """Asks the supervisor of an attempt, wherever it runs, to stop it."""
        return self.attempts_dir / str(attempt) / "stop"

    def fastlane_dir(self, attempt: int) -> Path:
        """Files by which another machine sees the frames of an attempt, while it runs."""
        return self.attempts_dir / str(attempt) / "fastlane"

    def write_spec(self, spec: RunSpec) -> None:
        """Write the spec."""
        text = msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n"
        write_atomically(self.spec_file, lambda file: file.write(text))

    def reserve(self) -> None:
        """Hold a little disk space, so that the manifest can be written when the disk is full."""
        with self._reserve.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)

    def release_reserve(self) -> None:
        """Give the held space back."""
        self._reserve.unlink(missing_ok=True)

    def write_manifest(self, manifest: Manifest, *, use_reserve: bool = False) -> None:
        """Replace the manifest, atomically.

        Args:
            manifest: what to write.
            use_reserve: on a full disk, use up the held space for it.

        Raises:
            OSError: it could not be written.
        """
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
        try:
            write_atomically(self.manifest_file, lambda file: file.write(text))
        except OSError as error:
            if error.errno not in DISK_FULL or not use_reserve:
                raise
            self.release_reserve()
            write_atomically(self.manifest_file, lambda file: file.write(text))

    def read_manifest(self) -> Manifest:
        """The manifest as it is on disk.

        Raises:
            UserError: it is missing, or of another version.
        """
        try:
            return msgspec.json.decode(self.manifest_file.read_bytes(), type=Manifest)
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", where=str(self.manifest_file)) from error
        except msgspec.DecodeError as error:
            raise UserError(f"not a manifest: {error}", where=str(self.manifest_file)) from error

    def log_tail(self, attempt: int, lines: int = 20) -> list[str]:
        """The last ``lines`` lines of an attempt's log, each cut to 500 characters."""
        try:
            with self.log_file(attempt).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 64 * 1024))
                text = file.read().decode(errors="replace")
        except FileNotFoundError:
            return []
        return [line[:500] for line in text.splitlines()[-lines:]]
