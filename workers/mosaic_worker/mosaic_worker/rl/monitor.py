"""What goes on in one environment, seen from just outside it."""

from typing import Any, Dict, Optional, Tuple

import gymnasium
import numpy as np

from mosaic_worker.fastlane.camera import Camera
from mosaic_worker.fastlane.drawing import FirstName, draw
from mosaic_worker.fastlane.filming import let_go


class Monitor(gymnasium.Wrapper):
    """Innermost: sees raw rewards and real resets, and has the environment's camera."""

    has_camera = True

    def __init__(self, env: gymnasium.Env) -> None:
        let_go(env)  # one camera is enough
        super().__init__(env)
        self._camera = Camera(draw, FirstName(env))
        self.seed: Optional[int] = None
        self.random: Any = None
        """The state of the environment's generator before its last reset."""
        self.observation: Any = None
        """The last one that the environment gave."""
        self.episode_return, self.length = 0.0, 0
        self.finished: Optional[Tuple[float, int]] = None
        """Return and length of the last episode that ended."""

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Any:
        """Start a new episode."""
        self._camera.reset(self.length)
        self.seed, self.random = seed, random_of(self.env)
        self.episode_return, self.length = 0.0, 0
        result = self.env.reset(seed=seed, options=options)
        self.observation = result[0]
        return result

    def step(self, action: Any) -> Any:
        """Take a step; the last one of an episode sets ``finished``."""
        result = self.env.step(action)
        self.observation, reward, terminated, truncated, _ = result
        self.episode_return += float(reward)  # float32 rewards would be summed as such
        self.length += 1
        if self._camera.wish[0]:
            self._camera.look(self.env, reward, self.length)
        if terminated or truncated:
            self._finish()
        return result

    def close(self) -> None:
        """Let go of the environment."""
        self._camera.close()
        self.env.close()

    def _finish(self) -> None:
        self.finished = (self.episode_return, self.length)
        self._camera.episode(self.episode_return)


def random_of(env: Any) -> Any:
    """The state of an environment's generator; None for one of an unknown kind."""
    generator = env.unwrapped.np_random
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state(legacy=False) if isinstance(generator, np.random.RandomState) else None


def set_random(env: Any, random: Any) -> None:
    """Set an environment's generator to a state that :func:`random_of` gave."""
    generator = env.unwrapped.np_random
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = random
    else:
        generator.set_state(random)


def monitor_of(env: Any) -> Any:
    """The monitor among the wrappers around an environment."""
    while not isinstance(env, Monitor):
        env = env.env
    return env


def agent_returns(env: Any) -> Optional[Dict[str, float]]:
    """Returns of each agent in the present episode; None where only one acts."""
    returns: Optional[Dict[str, float]] = getattr(env.unwrapped, "agent_returns", None)
    return None if returns is None else {name: float(value) for name, value in returns.items()}
