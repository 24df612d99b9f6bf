"""The frames of an attempt for watchers on other machines: JPEGs in its directory, only while somebody asks for them.

The other side, and what the files are for, is ``watch/remote.py``. The file ``wanted`` is made here, at the start:
NFS remembers for half a minute that a file is not there, while it asks the server anew whenever one is opened.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_pipe.base.processes import this_host
from mosaic_pipe.watch.mailbox import LATEST, NOTE, WANTED

if TYPE_CHECKING:
    from mosaic_pipe.watch.local import LocalLanes

_IDLE_SECONDS = 1.0
"""From a look to the next while nobody watches: each is a question to the file server, of each job of a cluster."""
_LOOK_SECONDS = 0.5
_FIRST_SECONDS = 0.1
"""Time for a first frame, so that the first picture is none of those that somebody else was shown long ago."""
_HOLD_SECONDS = 1.3
"""How long one touch of ``wanted`` counts. Watchers touch it twice a second."""
_COST = 10
"""A picture may take one part in so many of the supervisor's time: it has runs to look after."""
_SIDE = 960
_LONGEST_COMMENT = 65_000


class Snapshots:
    """Shows one attempt in the folder ``folder``; nothing here raises, and no failure is worth more than a note."""

    def __init__(self, folder: Path, segment: Path) -> None:
        """``segment``: where the attempt's frames are."""
        self._folder, self._segment = folder, segment
        self._touched, self._until, self._due = 0, 0.0, 0.0
        self._lanes: LocalLanes | None = None
        self._token, self._note = 0, ""
        try:
            folder.mkdir(exist_ok=True)
            (folder / WANTED).touch()
            self._touched = (folder / WANTED).stat().st_mtime_ns
        except OSError:  # a full disk, say: then nobody elsewhere sees this attempt
            self._due = float("inf")

    def look(self) -> None:
        """See whether somebody wants pictures, and make one; call it several times a second."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _LOOK_SECONDS
        try:
            if not self._is_wanted(now):
                self._due = now + _IDLE_SECONDS
                self._stop()
            elif self._lanes is None:
                self._begin(now)
            else:
                self._show(self._lanes, now)
                self._due = max(self._due, now + _COST * (time.monotonic() - now))
        except Exception as error:  # training is worth more than pictures
            self._say(f"no pictures: {error}")

    def close(self) -> None:
        """Remove everything."""
        if self._lanes:
            self._lanes.close()
            self._lanes = None
        self._due = float("inf")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _is_wanted(self, now: float) -> bool:
        with (self._folder / WANTED).open("rb") as file:
            touched = os.fstat(file.fileno()).st_mtime_ns
        if touched != self._touched:
            self._touched, self._until = touched, now + _HOLD_SECONDS
        return now < self._until

    def _begin(self, now: float) -> None:
        try:
            from mosaic_pipe.watch.local import LocalLanes
        except ImportError as error:
            hint = "pip install 'mosaic-pipe[view]'"
            raise RuntimeError(f"{error.name} is not installed on {this_host()}: {hint}") from error
        self._lanes = LocalLanes(self._segment, itertools.count(self._token + 1).__next__)
        self._lanes.want(None, self._until - now)
        self._due = time.monotonic() + _FIRST_SECONDS

    def _show(self, lanes: LocalLanes, now: float) -> None:
        from mosaic_pipe.fastlane.pictures import to_jpeg

        lanes.want(None, self._until - now)
        view = lanes.view(self._token, _SIDE, None)
        if view:
            self._token = view.token
            metrics = json.dumps(view.metrics).encode()
            self._put(LATEST, to_jpeg(view.image, metrics if len(metrics) < _LONGEST_COMMENT else b"[]"))
        self._say(lanes.note(None))

    def _stop(self) -> None:
        if self._lanes:
            self._lanes.close()
            self._lanes = None
            (self._folder / LATEST).unlink(missing_ok=True)
        self._say("")

    def _say(self, note: str) -> None:
        if note == self._note:
            return
        self._note = note
        with contextlib.suppress(OSError):
            if note:
                self._put(NOTE, note.encode())
            else:
                (self._folder / NOTE).unlink(missing_ok=True)

    def _put(self, name: str, content: bytes) -> None:
        """Put a file in place at once; a picture is not worth waiting for the disk, as ``write_atomically`` does."""
        made = self._folder / f".{name}"
        try:
            made.write_bytes(content)
            made.replace(self._folder / name)
        except OSError:
            made.unlink(missing_ok=True)
            raise
