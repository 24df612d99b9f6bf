"""Watching one environment of one of the kinds that there are."""

import math
from typing import Any, Tuple

from mosaic_worker.fastlane.camera import Camera
from mosaic_worker.fastlane.drawing import draw, name_of
from mosaic_worker.fastlane.filming import Watcher


class Single(Watcher):
    """Counts what the camera must know of the present episode."""

    def __init__(self) -> None:
        self._camera = Camera(draw, name_of)
        self._total, self._length = 0.0, 0

    def saw(self, env: Any, result: Any) -> None:
        """A step was taken, by Gymnasium's five values, or the four of gym before 0.26."""
        self._total += result[1]
        self._length += 1
        if self._camera.wish[0]:
            self._camera.look(env, result[1], self._length)
        if result[2] or result[-2]:
            self._end()

    def _end(self) -> None:
        self._camera.episode(float(self._total))
        self.reset()

    def reset(self) -> None:
        """An episode begins, whether the one before has ended or not."""
        if self._length:
            self._camera.reset(self._length)
            self._total, self._length = 0.0, 0

    def close(self) -> None:
        """Let others have the lane."""
        self._camera.close()


class _Team(Single):
    def saw(self, env: Any, result: Any) -> None:
        """A step was taken."""
        reward, over = self.outcome(env, result)
        super().saw(env, (None, reward, over, over, None))

    def outcome(self, env: Any, result: Any) -> Tuple[float, bool]:
        """All agents' reward, and whether their episode ended."""
        raise NotImplementedError


class Parallel(_Team):
    """PettingZoo's, where all agents step at once: the reward is their sum."""

    def outcome(self, env: Any, result: Any) -> Tuple[float, bool]:
        """Their rewards are a dictionary; nobody is left when the episode is over."""
        return math.fsum(result[1].values()), not env.agents


class Turns(_Team):
    """PettingZoo's, where one agent steps after the other: the reward is the sum of what each step brought."""

    def outcome(self, env: Any, result: Any) -> Tuple[float, bool]:
        """The environment itself tells, in dictionaries."""
        over = all(env.terminations.get(agent) or env.truncations.get(agent) for agent in env.agents)
        return math.fsum(env.rewards.values()), over
