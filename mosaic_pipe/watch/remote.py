"""Live pictures of a run on another machine: what its supervisor writes into the run's directory (:mod:`mailbox`)."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from mosaic_pipe.fastlane.pictures import scaled
from mosaic_pipe.watch.mailbox import LATEST, NOTE, WANTED
from mosaic_pipe.watch.source import Metrics, View

_TOUCH_SECONDS = 0.5
_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 5.0


class RemoteLanes:
    """What a supervisor elsewhere writes of its attempt's lanes."""

    def __init__(self, folder: Path, host: str, next_token: Callable[[], int]) -> None:
        """``folder``: the attempt's ``fastlane``; ``host``: where it runs, for the user."""
        self._folder, self._host, self._next_token = folder, host, next_token
        self._touched = self._looked = self._since = -float("inf")
        self._file_system_time = 0.0
        self._failed = ""
        self._signature: tuple[int, int, int] | None = None
        self._image: Image.Image | None = None
        self._written, self._token = 0.0, 0

    def want(self, lane: int | None) -> None:
        """See :class:`Source`; the supervisor is always asked for all lanes."""
        now = time.monotonic()
        if now - self._touched < _TOUCH_SECONDS * 0.9:
            return
        if now - self._touched > _PATIENCE_SECONDS:
            self._since = now
        self._touched = now
        try:
            os.utime(self._folder / WANTED)
            self._file_system_time = (self._folder / WANTED).stat().st_mtime
            self._failed = ""
        except FileNotFoundError:
            self._failed = f"the run's supervisor on {self._host} shows no pictures, or is only starting"
        except OSError as error:
            self._failed = f"the run's supervisor on {self._host} cannot be asked for pictures: {error.strerror}"

    def view(self, after: int, side: int | None, lane: int | None) -> View | None:
        """See :class:`Source`."""
        self._look()
        if self._image is None or self._token <= after:
            return None
        metrics = [one for one in self._metrics(self._image) if lane in (None, one["lane"])]
        if lane is None:
            return View(self._token, scaled(self._image, side), metrics)
        if not metrics:
            return None
        left, top, width, height = metrics[0]["box"]
        return View(self._token, scaled(self._image.crop((left, top, left + width, top + height)), side), metrics)

    def note(self, lane: int | None) -> str:
        """See :class:`Source`."""
        if self._failed:
            return self._failed
        try:
            return (self._folder / NOTE).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            pass
        if self._image:
            return ""
        if time.monotonic() - self._since > _PATIENCE_SECONDS:
            return f"no answer from {self._host}: its supervisor may be gone, or the file system slow"
        return f"waiting for a picture from {self._host}"

    def close(self) -> None:
        """See :class:`Source`."""

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        try:
            with (self._folder / LATEST).open("rb") as file:  # on NFS, opening is what asks the server
                status = os.fstat(file.fileno())
                signature = (status.st_ino, status.st_mtime_ns, status.st_size)
                if signature == self._signature:
                    return
                image = Image.open(io.BytesIO(file.read()))
            image.load()
        except (OSError, SyntaxError):  # none yet; or no JPEG, which Pillow tells so
            return
        self._signature, self._image, self._written = signature, image, status.st_mtime
        self._token = self._next_token()

    def _metrics(self, image: Image.Image) -> list[Metrics]:
        try:
            metrics: list[Metrics] = json.loads(image.info["comment"])
            since = max(0.0, self._file_system_time - self._written)
            return [{**one, "age": round(one["age"] + since, 4)} for one in metrics]
        except (KeyError, TypeError, ValueError):
            return []
