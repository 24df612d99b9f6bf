"""A directory for what an attempt needs while it runs: sockets, files shared by its processes. Gone when it is over.

Its path is short, because a Unix socket's may have 107 bytes at most, and it is the user's alone. Supervisor and guard
hold a lock on a file in it; where both were killed at once, the next attempt on the machine finds that unlocked and
removes the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "mosaic_run_"
_LOCK = ".attempt"
_LONGEST = 16
"""Characters of a folder that scratch directories are made in; in a deeper one there is no room for sockets."""


class Scratch:
    """One attempt's directory."""

    def __init__(self) -> None:
        """Make it.

        Raises:
            OSError: no room, no permission.
        """
        base = tempfile.gettempdir()
        base = base if len(base) <= _LONGEST else "/tmp"  # noqa: S108 - mkdtemp makes a directory of its own there
        _remove_abandoned(Path(base))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        hidden = self.path / f"{_LOCK}.new"
        self.lock = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        """Descriptor that holds the lock; the guard inherits it."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        hidden.rename(self.path / _LOCK)  # from now on it is locked wherever it is seen

    def remove(self) -> None:
        """Remove it and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def _remove_abandoned(base: Path) -> None:
    for lock in base.glob(f"{_PREFIX}*/{_LOCK}"):
        # an OSError: it is locked, somebody else's, or just went away
        with contextlib.suppress(OSError), lock.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
