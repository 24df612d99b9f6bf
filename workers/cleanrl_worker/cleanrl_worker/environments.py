"""Environments as the scripts get them: counted, and shaped for a flat network."""

import importlib
from typing import Any

import gymnasium
import numpy as np
from mosaic_worker.session import Session

from cleanrl_worker import gym_api


class Monitor(gymnasium.Wrapper):
    """Reports each step and each finished episode; innermost, so that returns are raw and undiscounted."""

    def __init__(self, env: gymnasium.Env, session: Session) -> None:
        super().__init__(env)
        self._session = session
        self._return, self._length = 0.0, 0

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Start a new episode."""
        self._return, self._length = 0.0, 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step and report it."""
        result = self.env.step(action)
        _, reward, terminated, truncated, _ = result
        self._return += reward
        self._length += 1
        self._session.tick()
        if terminated or truncated:
            self._session.episode(float(self._return), self._length)
        return result


class FlatImage(gymnasium.ObservationWrapper):
    """MiniGrid's dictionary of image, direction and mission as its image alone: a flat vector of float32."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        image = env.observation_space["image"]
        low, high = (np.asarray(bound, dtype=np.float32).ravel() for bound in (image.low, image.high))
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)

    def observation(self, observation: dict[str, Any]) -> np.ndarray:
        """The image, shape ``(height * width * 3,)``."""
        flat: np.ndarray = observation["image"].astype(np.float32).ravel()
        return flat


_REGISTERED_BY = {"minigrid": "minigrid"}
"""Packages that register a family's environments when they are imported."""


def install(session: Session, family: str, kwargs: dict[str, Any]) -> None:
    """Patch ``gymnasium.make``, and ``gym.make`` over it, to count and shape environments.

    Args:
        session: told of every step and episode.
        family: family of the environments that will be made.
        kwargs: keyword arguments of the environment's constructor, from the spec.
    """
    if family in _REGISTERED_BY:
        importlib.import_module(_REGISTERED_BY[family])
    original = gymnasium.make

    def make(id: str, **given: Any) -> gymnasium.Env:
        env = original(id, **{**kwargs, **given})
        return Monitor(_flat(env), session)

    gymnasium.make = make
    gym_api.install(make)


def _flat(env: gymnasium.Env) -> gymnasium.Env:
    """``env``, with MiniGrid's dictionary of observations made flat; any other as it is."""
    space = env.observation_space
    return FlatImage(env) if isinstance(space, gymnasium.spaces.Dict) and "image" in space.spaces else env
