"""Live pictures of a run on this machine, out of its segment."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic_pipe.fastlane.pictures import Box, tiled
from mosaic_pipe.fastlane.reader import WISH_SECONDS, Frame, Reader
from mosaic_pipe.watch.source import Metrics, View


@dataclass(frozen=True)
class _Seen:
    token: int
    at: float
    frame: Frame


class LocalLanes:
    """The lanes of one attempt's segment."""

    def __init__(self, segment: Path, next_token: Callable[[], int]) -> None:
        """Attach.

        Raises:
            FileNotFoundError: there is no such segment: the attempt is over, or shows nothing.
        """
        self._reader = Reader(segment)
        self._next_token = next_token
        self._seen: dict[int, _Seen] = {}
        self._rearranged = 0

    def want(self, lane: int | None, seconds: float = WISH_SECONDS) -> None:
        """See :class:`Source`; ``seconds``: how long it holds."""
        self._reader.want(self._shown(lane), seconds)

    def view(self, after: int, side: int | None, lane: int | None) -> View | None:
        """See :class:`Source`."""
        for number in self._shown(lane):
            self._look(number)
        seen = [self._seen[number] for number in self._shown(lane) if number in self._seen]
        token = max([self._rearranged if lane is None else 0, *(one.token for one in seen)])
        if not seen or token <= after:
            return None
        image, boxes = tiled([one.frame for one in seen], side)
        return View(token, image, [_metrics(one, box) for one, box in zip(seen, boxes, strict=True)])

    def note(self, lane: int | None) -> str:
        """See :class:`Source`."""
        lanes = self._shown(lane)
        statuses = [self._reader.status(number) for number in lanes]
        notes = dict.fromkeys(f"{one.label}: {one.note}" for one in statuses if one.claimed and one.note)
        if notes:
            return "; ".join(notes)
        if any(number in self._seen for number in lanes):
            return ""
        if not lanes:
            return f"there is no lane {lane}"
        if any(one.claimed for one in statuses):
            return "waiting for the next step of an environment"
        return "no environment has taken a step yet"

    def close(self) -> None:
        """See :class:`Source`."""
        self._reader.close()

    def _shown(self, lane: int | None) -> Sequence[int]:
        if lane is None:
            return self._reader.lanes
        return [lane] if lane in self._reader.lanes else []

    def _look(self, lane: int) -> None:
        known = self._seen.get(lane)
        if not self._reader.status(lane).claimed:  # what it still shows is of a process that has ended
            if self._seen.pop(lane, None):
                self._rearranged = self._next_token()
        elif frame := self._reader.frame(lane, known.frame.number if known else 0):
            self._seen[lane] = _Seen(self._next_token(), time.monotonic(), frame)


def _metrics(seen: _Seen, box: Box) -> Metrics:
    frame = seen.frame
    return {
        "lane": frame.lane,
        "label": frame.label,
        "frame": frame.number,
        "age": round(frame.age + time.monotonic() - seen.at, 4),
        "last_reward": _known(frame.last_reward),
        "rolling_return": _known(frame.rolling_return),
        "step_rate_hz": _known(frame.step_rate_hz),
        "box": list(box),
    }


def _known(number: float) -> float | None:
    """JSON has no NaN."""
    return number if math.isfinite(number) else None
