"""Environments as the scripts get them: counted, shaped for a flat network, and under the API that they import.

Two thirds of CleanRL 1.2.0 imports ``gym`` (0.23), the rest ``gymnasium``. Both get the same environments of
Gymnasium 0.29, so that one patched ``make`` serves both and replay buffers meet one kind of space.
"""

import importlib
import sys
import types
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from mosaic_worker.session import Session


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
        self._return += result[1]
        self._length += 1
        self._session.tick()
        if result[2] or result[3]:
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


_REGISTERED_BY = {"minigrid": "minigrid"}
"""Packages that register a family's environments when they are imported."""


def install(session: Session, family: str, kwargs: dict[str, Any]) -> None:
    """Patch ``gymnasium.make`` to count and shape environments, and put gym's old API over it.

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
    sys.modules.update(_gym_modules(make))


def _flat(env: gymnasium.Env) -> gymnasium.Env:
    """``env``, with MiniGrid's dictionary of observations made flat; any other as it is."""
    space = env.observation_space
    return FlatImage(env) if isinstance(space, gymnasium.spaces.Dict) and "image" in space.spaces else env


def _gym_modules(make: Any) -> dict[str, types.ModuleType]:
    """The modules of gym 0.23 that the scripts and their wrappers use, over Gymnasium's."""
    gym = types.ModuleType("gym")
    gym.__dict__.update({name: value for name, value in vars(gymnasium).items() if not name.startswith("__")})
    gym.__path__ = []  # a package: submodules are found in sys.modules

    def old_make(id: str, **kwargs: Any) -> gymnasium.Env:
        return SeededAtReset(make(id, **{"render_mode": "rgb_array", **kwargs}))

    vector = types.ModuleType("gym.vector")
    vector.__dict__.update(SyncVectorEnv=_old(SyncVectorEnv), AsyncVectorEnv=_old(AsyncVectorEnv))
    gym.__dict__.update(make=old_make, vector=vector)
    modules = {"gym": gym, "gym.vector": vector}
    for name in ("spaces", "wrappers", "wrappers.normalize"):
        modules["gym." + name] = importlib.import_module("gymnasium." + name)
    return modules


def _old(base: Any) -> Any:
    """A vector environment with gym 0.23's ``reset`` and ``step``: one ``done``, a list of infos."""

    class OldVectorEnv(base):  # type: ignore[misc]
        def reset(self, **kwargs: Any) -> Any:
            return super().reset(**kwargs)[0]

        def step(self, actions: Any) -> Any:
            observations, rewards, terminated, truncated, infos = super().step(actions)
            dones = np.logical_or(terminated, truncated)
            return observations, rewards, dones, _old_infos(infos, terminated, truncated)

    OldVectorEnv.__name__ = base.__name__
    return OldVectorEnv


def _old_infos(infos: dict[str, Any], terminated: np.ndarray, truncated: np.ndarray) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = [{} for _ in terminated]
    for index, final in enumerate(infos.get("final_info", ())):
        if final is None:
            continue
        episode = {key: np.asarray(value).item() for key, value in final.get("episode", {}).items()}
        listed[index] = {
            **final,
            **({"episode": episode} if episode else {}),
            "terminal_observation": infos["final_observation"][index],
            "TimeLimit.truncated": bool(truncated[index] and not terminated[index]),
        }
    return listed
