"""Training environments: watched, seeded, and brought to where an earlier run left them."""

from typing import Any

import gymnasium
import numpy as np
import torch
from mosaic_worker.rl import plugins
from mosaic_worker.rl.monitor import Monitor, random_of, set_random
from mosaic_worker.rl.randomness import plain, unplain
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec
from tianshou.env import DummyVectorEnv

MAX_ACTIONS = 100_000
"""An episode of more actions is not played again: it would take too long."""


class TrainingEnv(gymnasium.Wrapper):
    """One environment of training: counts its steps, and remembers what it went through since its last reset.

    An environment's state is not data in general, but it follows from the random numbers at its last reset and from
    the actions since. :meth:`capture` gives them, and after :meth:`restore` the next reset plays them again.
    """

    def __init__(self, env: gymnasium.Env, seed: int, session: Session) -> None:
        super().__init__(Monitor(env))
        self._session = session
        self._seed: int | None = seed
        self._saved: dict[str, Any] | None = None
        self._actions: list[Any] = []
        self._observation: Any = None
        self.restarted = False
        """Whether a new episode was begun because the saved one could not be played again."""
        env.action_space.seed(seed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, or come to where an earlier run was."""
        if self._saved is not None:
            return self._come_back(self._saved)
        seed, self._seed = (self._seed if seed is None else seed), None
        self._actions = []
        self._observation, info = self.env.reset(seed=seed, options=options)
        return self._observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step, and report it."""
        self._actions.append(action)
        result = self.env.step(action)
        self._observation = result[0]
        self._session.tick()
        if result[2] or result[3]:
            self._session.episode(*self.env.finished)
        return result

    def capture(self) -> dict[str, Any]:
        """What :meth:`restore` needs, in plain terms."""
        long = len(self._actions) > MAX_ACTIONS
        return {
            "seed": self.env.seed,
            "random_at_reset": plain(self.env.random),
            "random": plain(random_of(self.env)),
            "action_space": plain(self.action_space.np_random.bit_generator.state),
            "actions": None if long else torch.from_numpy(np.array(self._actions)),
            "observation": torch.from_numpy(np.array(self._observation)),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Let the next reset lead to where ``saved`` was captured."""
        self._saved = saved

    def _come_back(self, saved: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        self._saved, self._seed = None, None
        actions = [] if saved["actions"] is None else list(saved["actions"].numpy())
        if saved["seed"] is None:
            self.env.reset(seed=0)  # an environment may make its generator at its first reset
            set_random(self.env, unplain(saved["random_at_reset"]))
        self._observation, info = self.env.reset(seed=saved["seed"])
        for action in actions:
            self._observation, _, _, _, info = self.env.step(action)
        self._actions = actions
        self.action_space.np_random.bit_generator.state = unplain(saved["action_space"])
        if saved["actions"] is not None and np.array_equal(self._observation, saved["observation"].numpy()):
            return self._observation, info
        self.restarted = True
        set_random(self.env, unplain(saved["random"]))
        return self.reset()


def make(spec: Spec) -> gymnasium.Env:
    """The environment of ``spec``, as Gymnasium makes it."""
    plugins.register_installed()
    # rgb_array is what videos need, and costs nothing until something renders
    return gymnasium.make(spec.env.id, **{"render_mode": "rgb_array", **spec.env.kwargs})


def make_training(spec: Spec, count: int, session: Session) -> tuple[DummyVectorEnv, list[TrainingEnv]]:
    """Tianshou's vector of ``count`` environments with the seeds ``seed``, ``seed + 1``, …, and these themselves."""
    envs = [TrainingEnv(make(spec), spec.seed + index, session) for index in range(count)]
    return DummyVectorEnv([lambda env=env: env for env in envs]), envs
