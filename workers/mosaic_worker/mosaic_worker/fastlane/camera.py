"""What looks at one environment while it trains, and films it while somebody watches."""

import math
import os
import time
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from mosaic_worker.errors import UserError
from mosaic_worker.fastlane import notices
from mosaic_worker.fastlane.lane import Lane
from mosaic_worker.fastlane.picture import shrunk
from mosaic_worker.fastlane.segment import attach

SHARE = 0.06
"""Of a process's time that all its cameras together take at most, but for a first picture: drawing may begin slowly."""
ALPHA = 0.1
"""Weight of the newest episode in the rolling return."""
SPAN = 5.0
"""Seconds: the step rate is the mean over the last one to two of these."""
_PAUSE = 1.0  # seconds until a full /dev/shm is tried again

_FIRST: Sequence[int] = (1,)
_NEVER: Sequence[int] = (0,)

Picture = Callable[[Any], Any]
"""What a subject looks like: an array, or UserError with the reason why there is none."""

_filming: Dict[int, float] = {}  # cameras of this process that somebody watches: when each is due again


class Camera:
    """Looks at one environment. Nothing that goes wrong here is ever raised.

    Whoever steps the environment asks ``camera.wish[0]`` after each step, one integer, and calls :meth:`look` where it
    is not 0. A lane is claimed at the first step, so that environments made for their spaces take none.
    """

    def __init__(self, picture: Picture, name: Callable[[Any], str]) -> None:
        """``picture`` and ``name`` are asked about what is given to :meth:`look`."""
        self.wish = _FIRST
        self._picture, self._name = picture, name
        self._lane: Optional[Lane] = None
        self._pid = 0
        self._label = ""
        self._due = self._cost = 0.0
        self._steps = self._pictures = 0
        self._rolling = math.nan
        self._newer = self._older = (0.0, 0)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Camera, (self._picture, self._name)  # a copy's environment is another one, with a lane of its own

    def look(self, subject: Any, reward: Any, length: int) -> None:
        """A step was taken, the ``length``-th of its episode, while somebody may be watching."""
        now = time.monotonic()
        if now < self._due:
            return
        try:
            if self._pid != os.getpid():  # the first step, or this process is a fork of the camera's
                self._begin(subject, now, length)
            if self._lane and self._lane.wanted():
                self._shoot(subject, self._lane, now, float(reward), length)
        except Exception as error:
            self._give_up(error)

    def episode(self, episode_return: float) -> None:
        """An episode ended."""
        before = self._rolling
        self._rolling = episode_return if before != before else before + ALPHA * (episode_return - before)

    def reset(self, length: int) -> None:
        """A new episode begins; ``length``: the steps of the one before, wherever it ended."""
        self._steps += length
        self._mark(time.monotonic(), self._steps)

    def close(self) -> None:
        """Give the lane back."""
        if self._lane and self._pid == os.getpid():
            self._lane.release()
        _filming.pop(id(self), None)
        self._lane, self._pid, self.wish = None, 0, _FIRST

    def _begin(self, subject: Any, now: float, length: int) -> None:
        self._pid, self.wish, self._lane = os.getpid(), _NEVER, None
        segment = attach()
        if segment is None:
            return
        self._label = self._name(subject)
        self._lane = segment.claim(self._label)
        if self._lane:
            self.wish = self._lane.wish
            self._interval, self._max_dim = segment.interval, segment.max_dim
            self._older = self._newer = (now, self._steps + length)

    def _shoot(self, subject: Any, lane: Lane, now: float, reward: float, length: int) -> None:
        pixels, height, width, channels = shrunk(self._picture(subject), self._max_dim)
        label = self._name(subject)
        if label != self._label:
            self._label = label
            lane.call(label)
        steps = self._steps + length
        self._mark(now, steps)
        then, before = self._older
        rate = (steps - before) / (now - then) if now > then else math.nan
        try:
            lane.write(pixels, height, width, channels, reward, self._rolling, rate)
        except OSError as error:
            lane.say(f"no room for pictures in shared memory: {error.strerror}")
            self._due = now + _PAUSE
            return
        self._rest(now)

    def _rest(self, now: float) -> None:
        """Decide when the next picture is due: cameras share their time equally, by what a picture costs on average.

        The first one does not count, and one that took much longer than others not in full.
        """
        cost = time.monotonic() - now
        self._pictures += 1
        if self._pictures == 2:
            self._cost = cost
        elif self._pictures > 2:
            self._cost += (min(cost, 4 * self._cost) - self._cost) / 5
        sharing = 1 + sum(due > now - 1.0 for camera, due in list(_filming.items()) if camera != id(self))
        self._due = _filming[id(self)] = now + max(self._interval, self._cost * sharing / SHARE)

    def _mark(self, now: float, steps: int) -> None:
        if now - self._newer[0] >= SPAN:
            self._older, self._newer = self._newer, (now, steps)

    def _give_up(self, error: Exception) -> None:
        """Film no more, and say why."""
        self.wish = _NEVER
        _filming.pop(id(self), None)
        try:
            reason = str(error) or type(error).__name__
            if not isinstance(error, UserError):
                reason = f"drawing failed: {type(error).__name__}: {error}"
                notices.warn(f"no live frames of {self._label}: {reason}")
            if self._lane:
                self._lane.say(reason)
        except Exception:  # noqa: S110 - there is nobody left to tell
            pass
