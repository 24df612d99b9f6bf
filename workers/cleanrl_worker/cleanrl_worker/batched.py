"""Environments that a library makes all at once: EnvPool, Procgen, PettingZoo through SuperSuit.

They are no Gymnasium environments that could be wrapped one by one, and cannot be brought to where they were: a
resumed run begins new episodes in them. Each gets the API that the scripts were written for, and is counted.
"""

from typing import Any

import gymnasium
import numpy as np
from mosaic_worker.imports import when_imported

from cleanrl_worker.monitor import Counter

REAL_GYM = ("procgen", "pettingzoo")
"""Families whose scripts put gym's own wrappers around a whole batch: gym 0.23 itself is what fits."""


def install(counter: Counter) -> None:
    """Have each library's maker counted when a script imports it."""
    when_imported("envpool", lambda module: _patch_envpool(module, counter))
    when_imported("procgen", lambda module: _patch_procgen(module, counter))
    when_imported("supersuit", lambda module: _patch_supersuit(module, counter))


class Meter:
    """Counts the steps and episodes of a batch of environments."""

    def __init__(self, counter: Counter, size: int) -> None:
        self._counter = counter
        self._returns = np.zeros(size, dtype=np.float64)
        self._lengths = np.zeros(size, dtype=np.int64)

    def step(self, rewards: Any, over: Any) -> None:
        """One step of each; ``rewards`` raw, ``over``: whether an episode ended."""
        self._returns += np.asarray(rewards)
        self._lengths += 1
        self._counter.steps(len(self._returns))
        for index in np.flatnonzero(np.asarray(over)):
            self._counter.episode(float(self._returns[index]), int(self._lengths[index]))
            self._returns[index], self._lengths[index] = 0.0, 0


def _patch_envpool(envpool: Any, counter: Counter) -> None:
    original = envpool.make

    def make(task_id: str, env_type: str, **kwargs: Any) -> "_EnvPool":
        return _EnvPool(original(task_id, env_type="gymnasium", **kwargs), counter)

    envpool.make = make


class _EnvPool(gymnasium.Env):
    """EnvPool 1 with the API of 0.6 under gym 0.23."""

    is_vector_env = True

    def __init__(self, pool: Any, counter: Counter) -> None:
        self._pool = pool
        self.num_envs = len(pool.all_env_ids)
        self._meter = Meter(counter, self.num_envs)
        self.observation_space, self.action_space = pool.observation_space, pool.action_space

    def reset(self, **_: Any) -> Any:
        return self._pool.reset()[0]

    def step(self, action: Any) -> Any:
        return self._counted(self._pool.step(np.asarray(action)))

    def async_reset(self) -> None:
        self._pool.async_reset()

    def send(self, action: Any) -> None:
        self._pool.send(np.asarray(action))

    def recv(self) -> Any:
        return self._counted(self._pool.recv())

    def xla(self) -> Any:
        """Functions to be compiled; steps in them are counted by the script alone."""
        import jax.numpy as jnp

        handle, recv, send, step = self._pool.xla()

        def old(result: Any) -> Any:
            handle, state = result
            return handle, _old(state, jnp.logical_or)

        return handle, lambda h: old(recv(h)), send, lambda h, a: old(step(h, a))

    def close(self) -> None:
        self._pool.closed = True  # Gymnasium's VectorEnv.close asks for it, and EnvPool never sets it
        self._pool.close()

    def _counted(self, result: Any) -> Any:
        observations, rewards, dones, infos = _old(result, np.logical_or)
        # a life may end where the game does not, and rewards may be clipped: the infos tell
        self._meter.step(infos.get("reward", rewards), infos.get("terminated", dones))
        return observations, rewards, dones, infos


def _old(result: Any, either: Any) -> Any:
    observations, rewards, terminated, truncated, infos = result
    return observations, rewards, either(terminated, truncated), {**infos, "TimeLimit.truncated": truncated}


def _patch_procgen(procgen: Any, counter: Counter) -> None:
    original = procgen.ProcgenEnv

    def procgen_env(num_envs: int, **kwargs: Any) -> Any:
        envs = original(num_envs=num_envs, **kwargs)
        meter, step = Meter(counter, num_envs), envs.step

        def counted(actions: Any) -> Any:
            result = step(actions)
            meter.step(result[1], result[2])
            return result

        envs.step = counted
        return envs

    procgen.ProcgenEnv = procgen_env


def _patch_supersuit(supersuit: Any, counter: Counter) -> None:
    """SuperSuit after 3.6 has no ``base_class="gym"``."""
    import gym

    original = supersuit.concat_vec_envs_v1

    class OldVector(gym.Env):
        is_vector_env = True

        def __init__(self, envs: Any) -> None:
            self._envs, self.num_envs = envs, envs.num_envs
            self._meter = Meter(counter, self.num_envs)
            observations, actions = envs.observation_space, envs.action_space
            self.observation_space = gym.spaces.Box(
                observations.low, observations.high, observations.shape, observations.dtype
            )
            self.action_space = gym.spaces.Discrete(int(actions.n))

        def reset(self, **_: Any) -> Any:
            return self._envs.reset()[0]

        def step(self, actions: Any) -> Any:
            observations, rewards, terminated, truncated, infos = self._envs.step(actions)
            self._meter.step(rewards, terminated | truncated)
            return observations, rewards, terminated | truncated, infos

        def render(self, mode: str = "rgb_array") -> Any:
            return self._envs.render()

        def close(self) -> None:
            self._envs.close()

    def concat_vec_envs_v1(env: Any, count: int, num_cpus: int = 0, base_class: str = "gymnasium") -> Any:
        return OldVector(original(env, count, num_cpus, "gymnasium"))

    supersuit.concat_vec_envs_v1 = concat_vec_envs_v1
