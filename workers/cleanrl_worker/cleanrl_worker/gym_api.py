"""The API of gym 0.23 over the environments of Gymnasium 0.29.

Two thirds of CleanRL 1.2.0 imports ``gym``, the rest ``gymnasium``. With this both get the same environments, one
patched ``make`` serves both, and replay buffers meet one kind of space. What gym's own classes do is kept to the
last digit: a test compares whole runs with gym itself.
"""

import importlib
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np


class SeededAtReset(gymnasium.Wrapper):
    """``env.seed(s)`` of gym 0.23, kept until the next reset."""

    _seed: int | None = None

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the next reset."""
        self._seed = seed
        return [seed]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Reset under the seed given here or kept from :meth:`seed`."""
        if seed is None:
            seed, self._seed = self._seed, None
        return self.env.reset(seed=seed, options=options)


class RecordEpisodeStatistics(gymnasium.Wrapper):
    """``info["episode"]`` of gym 0.23 for one environment: return in single precision, length, seconds.

    Gymnasium's own serves vector environments too, and takes longer for it than CartPole for its step.
    """

    def __init__(self, env: gymnasium.Env, deque_size: int = 100) -> None:
        super().__init__(env)
        self._begun = time.perf_counter()

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Start a new episode."""
        self._return, self._length = np.float32(0), 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step; the last one of an episode tells its statistics."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._return += np.float32(reward)
        self._length += 1
        if terminated or truncated:
            seconds = round(time.perf_counter() - self._begun, 6)
            info = {**info, "episode": {"r": self._return, "l": self._length, "t": seconds}}
        return observation, reward, terminated, truncated, info


def install(make: Callable[..., gymnasium.Env]) -> None:
    """Put modules ``gym``, ``gym.vector``, … in the place of gym; ``gym.make`` calls ``make``."""
    gym, vector, wrappers = types.ModuleType("gym"), types.ModuleType("gym.vector"), types.ModuleType("gym.wrappers")

    def old_make(id: str, **kwargs: Any) -> gymnasium.Env:
        return SeededAtReset(make(id, **{"disable_env_checker": True, **kwargs}))  # gym 0.23 has no checker

    modern = gymnasium.vector
    _fill(vector, SyncVectorEnv=_old(modern.SyncVectorEnv), AsyncVectorEnv=_old(modern.AsyncVectorEnv))
    _fill(wrappers, gymnasium.wrappers, RecordEpisodeStatistics=RecordEpisodeStatistics)
    _fill(gym, gymnasium, make=old_make, vector=vector, wrappers=wrappers)
    sys.modules.update({"gym": gym, "gym.vector": vector, "gym.wrappers": wrappers})
    for name in ("spaces", "wrappers.normalize"):
        sys.modules[f"gym.{name}"] = importlib.import_module(f"gymnasium.{name}")


def _fill(module: types.ModuleType, like: types.ModuleType | None = None, **names: Any) -> None:
    """Give ``module`` the public names of ``like``, and ``names``; make it a package."""
    public = {} if like is None else {key: value for key, value in vars(like).items() if not key.startswith("__")}
    vars(module).update({**public, **names, "__path__": []})


def _old(base: Any) -> Any:
    """A vector environment with gym 0.23's ``reset`` and ``step``: one ``done``, a list of infos."""

    class OldVectorEnv(base):
        def reset(self, **kwargs: Any) -> Any:
            return super().reset(**kwargs)[0]

        def step(self, actions: Any) -> Any:
            observations, rewards, terminated, truncated, infos = super().step(actions)
            return observations, rewards, terminated | truncated, _old_infos(infos, terminated, truncated)

    OldVectorEnv.__name__ = base.__name__
    return OldVectorEnv


def _old_infos(infos: dict[str, Any], terminated: np.ndarray, truncated: np.ndarray) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = [{} for _ in terminated]
    for index, final in enumerate(infos.get("final_info", ())):
        if final is not None:
            listed[index] = {
                **final,
                "terminal_observation": infos["final_observation"][index],
                "TimeLimit.truncated": bool(truncated[index] and not terminated[index]),
            }
    return listed
