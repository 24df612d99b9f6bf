"""The live pictures of one run, attempt after attempt, on this machine or another."""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import dataclass

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.base.processes import this_host
from mosaic_pipe.fastlane.pictures import to_jpeg
from mosaic_pipe.fastlane.segment import segment_path
from mosaic_pipe.store.attempts import Owner, is_gone, newest_attempt, owner_of
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.watch.local import LocalLanes
from mosaic_pipe.watch.remote import RemoteLanes
from mosaic_pipe.watch.source import Metrics, Source, View

_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Picture:
    """A JPEG of what there is to see; ``token`` grows with everything new."""

    token: int
    jpeg: bytes
    metrics: list[Metrics]


class Live:
    """What can be seen of a run, now and in its later attempts. For one thread at a time; changes nothing in the run.

    The run may be anywhere: where its supervisor is on another machine, pictures come through the run's directory.
    ``lane``, wherever it is asked for: one lane alone; None: all that the run shows.
    """

    def __init__(self, run: RunDir, host: str | None = None) -> None:
        """``host``: the name of this machine; None: what the system says."""
        self._run, self._host = run, host or this_host()
        self._next_token = itertools.count(1).__next__
        self._source: Source | None = None
        self._attempt, self._looked, self._why = 0, -float("inf"), ""
        self._made: dict[tuple[int | None, int | None], Picture] = {}
        self.has_ended = False
        """Whether nothing more comes, unless somebody begins another attempt."""

    def want(self, lane: int | None = None) -> None:
        """Somebody looks: frames are made for another second or so. Call it every half second meanwhile."""
        if source := self._current():
            source.want(lane)

    def view(self, after: int = 0, side: int | None = None, lane: int | None = None) -> View | None:
        """The newest image and its metrics, unless its token is ``after`` or less.

        Args:
            after: token of the last one.
            side: the longer side has at most so many pixels; None: what the lanes have.
            lane: see the class.
        """
        source = self._current()
        return source.view(after, side, lane) if source else None

    def picture(self, after: int = 0, side: int | None = None, lane: int | None = None) -> Picture | None:
        """As :meth:`view`, as JPEG; made once for all who ask for the same."""
        made = self._made.get((lane, side))
        view = self.view(max(after, made.token if made else 0), side, lane)
        if view is not None:
            made = self._made[lane, side] = Picture(view.token, to_jpeg(view.image), view.metrics)
        return made if made and made.token > after else None

    def note(self, lane: int | None = None) -> str:
        """Why there is nothing to see, for the user; empty when there is."""
        source = self._current()
        return source.note(lane) if source else self._why

    def close(self) -> None:
        """Give back what it holds."""
        if self._source:
            self._source.close()
        self._source = None
        self._made.clear()

    def _current(self) -> Source | None:
        """The source of the newest attempt; None, and why, where there is none."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._why = self._follow()
            if self._why:
                self.close()
        return self._source

    def _follow(self) -> str:
        """Attach to the newest attempt; why there is none to attach to."""
        number, manifest = newest_attempt(self._run), self._manifest()
        owner = owner_of(self._run, number)
        self.has_ended = False
        if manifest is None or owner is None or manifest.attempts[-1].number < number:
            return "the run has not started yet"
        self.has_ended = manifest.state.is_final or is_gone(owner)
        if self.has_ended:
            return f"the run has ended: {manifest.state if manifest.state.is_final else 'its supervisor is gone'}"
        if manifest.spec.fastlane.mode == "off":
            return "the run shows no frames: it was started with fastlane=off"
        if self._source and number != self._attempt:
            self.close()
        self._attempt = number
        self._attach(number, owner)
        return ""

    def _attach(self, attempt: int, owner: Owner) -> None:
        if owner.host == self._host and not isinstance(self._source, LocalLanes):
            with contextlib.suppress(OSError):  # not made yet, another user's, or in a /dev/shm that only its job sees
                self._source = LocalLanes(segment_path(self._run.path.name, attempt), self._next_token)
        if self._source is None:
            self._source = RemoteLanes(self._run.fastlane_dir(attempt), owner.host, self._next_token)

    def _manifest(self) -> Manifest | None:
        try:
            return self._run.read_manifest()
        except UserError:
            return None
