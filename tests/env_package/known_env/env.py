"""The environment itself; imported when one is made."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from known_env import LENGTHS, NAMES, length, rewards


class KnownEpisodes(gymnasium.Env):
    """Two actions, or one in [-1, 1]; observations: steps taken, the name, the number of the episode, a constant."""

    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, continuous: bool = False, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        one = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = one if continuous else gymnasium.spaces.Discrete(2)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (4,), np.float32)
        self._name = -1  # until the first reset
        self._number = self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if self._name < 0:
            self._name = int(self.np_random.integers(NAMES))
        self._steps = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        reward = np.float32(rewards(self._name, self._number)[self._steps])
        self._steps += 1
        over = self._steps == length(self._name, self._number)
        truncated = over and self._number % 2 == 1
        observation = self._observation()
        self._number += over
        return observation, reward, over and not truncated, truncated, {}

    def render(self) -> Any:
        return np.zeros((16, 16, 3), np.uint8)

    def _observation(self) -> Any:
        return np.array([self._steps / max(LENGTHS), self._name / NAMES, self._number % 2, 1.0], np.float32)
