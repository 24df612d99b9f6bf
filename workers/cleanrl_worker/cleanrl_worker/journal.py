"""What training environments have gone through since their last reset, so that another process can bring them there.

An environment's state is not data in general, but it follows from the random numbers at its last reset and from the
actions since: these are in the checkpoint, and played again through all of the script's wrappers. The observation at
the end tells whether that led to the same place; where it did not, the environment begins a new episode.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from mosaic_worker.rl.monitor import monitor_of, random_of
from mosaic_worker.rl.randomness import plain, unplain

from cleanrl_worker import state
from cleanrl_worker.monitor import Counter, Monitor, statistics_of

MAX_ACTIONS = 100_000
"""An episode of more actions is not played again: it would take too long."""


def journaled(base: Any, counter: Counter, made: list[Any]) -> Any:
    """The class of vector environments ``base``, with a :class:`Journal` each; adds each one to ``made``."""

    class JournaledVectorEnv(base):
        def __init__(self, env_fns: Any, *args: Any, **kwargs: Any) -> None:
            env_fns = list(env_fns)
            super().__init__(env_fns, *args, **kwargs)
            self.journal = Journal(self, env_fns)
            made.append(self)

        def step(self, actions: Any) -> Any:
            journal = self.journal
            journal.remember(actions)
            self.step_async(actions)  # as the base class's step does, called once less
            result = self.step_wait()
            counter.steps(self.num_envs)
            if journal.finished:
                journal.report(counter)
            return result

    JournaledVectorEnv.__name__ = base.__name__
    return JournaledVectorEnv


class Journal:
    """The journal of one vector environment.

    Processes spend their time in the steps, so that one costs an append and nothing else. Resets are seen as they
    happen: each environment's outermost ``reset`` is watched.
    """

    def __init__(self, envs: Any, env_fns: list[Callable[[], Any]]) -> None:
        self._envs, self._env_fns = envs, env_fns
        self.finished: list[Monitor] = []
        """Those whose episodes have ended and are not reported yet."""
        count = len(env_fns)
        self._starts, self._resets = [0] * count, [0] * count
        self._soft_resets: list[list[int]] = [[] for _ in range(count)]
        self._write([])
        for index in range(count):
            self._watch(index)

    def report(self, counter: Counter) -> None:
        """Report the episodes that have ended since the last time."""
        for monitor in self.finished:
            assert monitor.finished is not None
            counter.episode(*monitor.finished)
            if monitor.staged is not None:
                monitor.staged.curriculum.episode(*monitor.finished, monitor.finished_stage)
            monitor.finished = None
        self.finished.clear()

    def capture(self) -> list[dict[str, Any]]:
        """Everything that :meth:`restore` needs, in plain terms, for each environment."""
        return [self._capture(index) for index in range(len(self._env_fns))]

    def restore(self, saved: list[dict[str, Any]]) -> dict[int, Any]:
        """Bring the environments to where they were; else begin an episode, with the saved random numbers.

        Returns:
            The first observations of new episodes, by the environment's index; empty: all are where they were.
        """
        firsts: dict[int, Any] = {}
        played = []
        for index, (one, make) in enumerate(zip(saved, self._env_fns, strict=True)):
            self._envs.envs[index].close()
            env = self._envs.envs[index] = make()  # wrappers have state of their own, which begins where it began
            actions = state.decode(one["actions"], None) if one["actions"] is not None else []
            if one["actions"] is None or not _play(env, one, actions):
                actions = []
                monitor_of(env).force_next_reset(None, unplain(one["random"]), one["stage"])
                firsts[index], _ = env.reset()
            monitor_of(env).finished = None
            for said, found in zip(one["statistics"], statistics_of(env), strict=True):
                state.decode(said, found)
            played.append(actions)
        self._continue(played, [one["soft_resets"] for one in saved], firsts)
        return firsts

    def _capture(self, index: int) -> dict[str, Any]:
        env, start = self._envs.envs[index], self._starts[index]
        monitor = monitor_of(env)
        actions = np.array([actions[index] for actions in self._log[start:]])
        repeatable = self._resets[index] == monitor.resets and len(actions) <= MAX_ACTIONS
        return {
            "seed": monitor.seed,
            "stage": monitor.stage,
            "random_at_reset": plain(monitor.random) if monitor.seed is None else None,
            "random": plain(random_of(env)),
            "actions": state.encode(actions) if repeatable and actions.dtype.kind in "biuf" else None,
            "soft_resets": [place - start for place in self._soft_resets[index]],
            "observation": _digest(monitor.observation),
            "statistics": [state.encode(found) for found in statistics_of(env)],
        }

    def _continue(self, played: list[Any], soft_resets: list[list[int]], firsts: dict[int, Any]) -> None:
        """Write the journal as if this process had played what was played again."""
        length = max(map(len, played))
        kind = next((np.asarray(actions) for actions in played if len(actions)), np.zeros(0))
        log = np.zeros((length, len(played), *kind.shape[1:]), kind.dtype)
        for index, actions in enumerate(played):
            self._starts[index] = length - len(actions)
            if len(actions):
                log[self._starts[index] :, index] = actions
            shifted = [self._starts[index] + place for place in soft_resets[index]]
            self._soft_resets[index] = [] if index in firsts else shifted
            self._watch(index)
        self._write(list(log))

    def _write(self, log: list[Any]) -> None:
        self._log = log
        self.remember = log.append

    def _watch(self, index: int) -> None:
        env = self._envs.envs[index]
        monitor = monitor_of(env)
        monitor.tell = self.finished.append
        self._resets[index] = monitor.resets
        reset = env.reset

        def watched_reset(**kwargs: Any) -> Any:
            result = reset(**kwargs)
            self._on_reset(index, monitor.resets)
            return result

        env.reset = watched_reset

    def _on_reset(self, index: int, resets: int) -> None:
        if resets == self._resets[index]:  # a wrapper goes on with the same episode
            self._soft_resets[index].append(len(self._log))
            return
        self._resets[index] = resets
        self._starts[index], self._soft_resets[index] = len(self._log), []
        self._forget(min(self._starts))

    def _forget(self, count: int) -> None:
        """Drop the oldest ``count`` actions, which nobody needs any more."""
        if count:
            self._starts = [start - count for start in self._starts]
            self._soft_resets = [[place - count for place in places] for places in self._soft_resets]
            del self._log[:count]


def capture_vector(envs: Any) -> dict[str, Any]:
    """Where a vector environment and its action spaces' random numbers are, in plain terms."""
    return {
        "environments": envs.journal.capture(),
        "action_spaces": [_space_random(space) for space in _spaces(envs)],
    }


def restore_vector(envs: Any, saved: dict[str, Any]) -> dict[int, Any]:
    """Bring a vector environment there; returns the first observations of those that began an episode instead."""
    firsts: dict[int, Any] = envs.journal.restore(saved["environments"])
    for space, random in zip(_spaces(envs), saved["action_spaces"], strict=True):
        if random is not None:
            space.np_random.bit_generator.state = unplain(random)
    return firsts


def _play(env: Any, saved: dict[str, Any], actions: Any) -> bool:
    """Play ``actions`` again after the same reset; whether that led to the same observation."""
    monitor_of(env).force_next_reset(saved["seed"], unplain(saved["random_at_reset"]), saved["stage"])
    env.reset()
    soft_resets = list(saved["soft_resets"])
    for done in range(len(actions) + 1):
        while soft_resets and soft_resets[0] == done:
            soft_resets.pop(0)
            env.reset()
        if done < len(actions):
            env.step(actions[done])
    return bool(saved["observation"] == _digest(monitor_of(env).observation))


def _digest(observation: Any) -> str:
    """sha256 of an observation; of a dictionary, by its sorted keys."""
    parts = [observation[key] for key in sorted(observation)] if isinstance(observation, dict) else [observation]
    digest = hashlib.sha256()
    for part in map(np.asarray, parts):
        digest.update(f"{part.shape} {part.dtype} ".encode() + part.tobytes())
    return digest.hexdigest()


def _spaces(envs: Any) -> list[Any]:
    return [envs.single_action_space, envs.action_space]


def _space_random(space: Any) -> Any:
    """None for a space that nothing was drawn from yet."""
    generator = getattr(space, "_np_random", None)
    return None if generator is None else plain(generator.bit_generator.state)
