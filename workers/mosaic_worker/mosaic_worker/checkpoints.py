"""A run's checkpoints: when one is due, where it goes, which older ones it replaces."""

from pathlib import Path
from typing import TYPE_CHECKING, Callable, List, Optional

if TYPE_CHECKING:
    from mosaic_worker.session import Session

Write = Callable[[Path], Optional[Path]]
"""Writes a checkpoint, atomically, into a directory; None where there is nothing to save yet."""


class Checkpoints:
    """The newest ``keep`` checkpoints of a run, one about every ``interval`` steps of progress and one at its end."""

    def __init__(self, session: "Session", interval: Optional[int], keep: int) -> None:
        self._session = session
        self._interval = interval or float("inf")
        self._keep = keep
        self._directory = session.run_dir / "checkpoints"
        self._written = self._earlier()
        self._last: Optional[int] = None
        self.start_at(0)

    def start_at(self, progress: int) -> None:
        """Count the interval from ``progress``."""
        self.due_at = progress + self._interval

    def save(self, write: Write) -> None:
        """Let ``write`` save a checkpoint, unless there is one of this very step, and delete what it replaces."""
        if self._last == self._session.progress:
            return
        self._directory.mkdir(exist_ok=True)
        path = write(self._directory)
        self.start_at(self._session.progress)
        if path is None:
            return
        self._last = self._session.progress
        self._written = [old for old in self._written if old != path] + [path]
        replaced, self._written = self._written[: -self._keep], self._written[-self._keep :]
        self._session.checkpoint_saved(path, replaced)  # first: at any moment one that is on record exists
        for old in replaced:
            if old.exists():  # the user may have tidied up
                old.unlink()

    def _earlier(self) -> List[Path]:
        """Those of earlier attempts, oldest first; what one of them left half written is deleted."""
        found = []
        for path in self._directory.glob("*"):
            if path.name.startswith("."):
                path.unlink()
            else:
                found.append(path)
        return sorted(found, key=lambda path: path.stat().st_mtime)
