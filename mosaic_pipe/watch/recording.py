"""Recording what is to be seen of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from mosaic_pipe.watch.live import Live
from mosaic_pipe.watch.source import View
from mosaic_pipe.watch.video import Video

_WANT_SECONDS = 0.5
_LOOK_SECONDS = 0.02


@dataclass
class Recorded:
    """How much was recorded: frames that differ in time, and how long they are to be seen, in seconds."""

    frames: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What to record. ``seconds``: how long; ``timeout``: how long to wait for the first frame; ``side``: in pixels."""

    seconds: float
    fps: int
    timeout: float
    side: int
    lane: int | None


class Recording:
    """Records ``live``."""

    def __init__(
        self, live: Live, wish: Wish, progress: Callable[[Recorded, str], None], stopped: Callable[[], bool]
    ) -> None:
        """``progress`` is told often what there is so far, and why there is nothing; ``stopped``: it is enough."""
        self._live, self._wish, self._progress, self._stopped = live, wish, progress, stopped
        self._wanted = -math.inf
        self.recorded = Recorded()

    def wait(self) -> View | None:
        """The first frame that was made since somebody looks; None: the run ended, it took too long, or was stopped."""
        begun = time.monotonic()
        token = 0
        while time.monotonic() - begun < self._wish.timeout and not self._stopped():
            view = self._look(token)
            if view:
                token = view.token
                if min((one["age"] for one in view.metrics), default=0.0) <= time.monotonic() - begun:
                    return view
            if self._live.has_ended:
                return None
            self._progress(self.recorded, self._live.note(self._wish.lane))
            time.sleep(_LOOK_SECONDS)
        return None

    def record(self, first: View, video: Video) -> None:
        """Record from ``first`` on, until it is long enough, or the run has ended; what there is counts at any time."""
        wish, view, begun = self._wish, first, time.monotonic()
        end = round(wish.seconds * wish.fps)
        at = 0
        while at < end and not self._live.has_ended and not self._stopped():
            video.add(view.image, at)
            self.recorded.frames += 1
            self.recorded.seconds = (at + 1) / wish.fps
            self._progress(self.recorded, "")
            time.sleep(max(0.0, begun + (at + 1) / wish.fps - time.monotonic()))
            # what took longer than a frame's time is not made up for: the picture before is seen longer
            at = max(at + 1, int((time.monotonic() - begun) * wish.fps))
            view = self._look(view.token) or view
        self.recorded.seconds = min(at, end) / wish.fps

    def _look(self, after: int) -> View | None:
        now = time.monotonic()
        if now - self._wanted >= _WANT_SECONDS:
            self._wanted = now
            self._live.want(self._wish.lane)
        return self._live.view(after, self._wish.side, self._wish.lane)
