"""One environment of training: watched, seeded, and brought to where an earlier run left it."""

from typing import Any, Dict, List, Optional, Protocol, Tuple

import gymnasium
import numpy as np
import torch

from mosaic_worker.rl.monitor import Monitor, agent_returns, random_of, set_random
from mosaic_worker.rl.randomness import plain, unplain

MAX_ACTIONS = 100_000
"""An episode of more actions is not played again: it would take too long."""


class Listener(Protocol):
    """Told what happens: a :class:`~mosaic_worker.session.Session`, or what stands for it in another process."""

    def tick(self) -> None:
        """A step was taken."""
        ...

    def episode(
        self, episode_return: float, episode_length: int, *, agent_returns: Optional[Dict[str, float]] = None
    ) -> None:
        """The last step ended an episode."""
        ...


class TrainingEnv(gymnasium.Wrapper):
    """Counts its steps, and remembers what it went through since its last reset.

    An environment's state is not data in general, but it follows from the random numbers at its last reset and from
    the actions since. :meth:`capture` gives them, and after :meth:`restore` the next reset plays them again.
    """

    def __init__(self, env: gymnasium.Env, seed: int, session: Listener) -> None:
        super().__init__(Monitor(env))
        self._session = session
        self._seed: Optional[int] = seed
        self._saved: Optional[Dict[str, Any]] = None
        self._actions: List[Any] = []
        self.restarted = False
        """Whether a new episode was begun because the saved one could not be played again."""
        env.action_space.seed(seed)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Any]:
        """Begin an episode, or come to where an earlier run was."""
        if self._saved is not None:
            return self._come_back(self._saved)
        seed, self._seed = (self._seed if seed is None else seed), None
        self._actions = []
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        """Take a step, and report it."""
        self._actions.append(action)
        result = self.env.step(action)
        self._session.tick()
        if result[2] or result[3]:
            self._session.episode(*self.env.finished, agent_returns=agent_returns(self.env))
        return result

    def capture(self) -> Dict[str, Any]:
        """What :meth:`restore` needs, in plain terms."""
        long = len(self._actions) > MAX_ACTIONS
        return {
            "seed": self.env.seed,
            "random_at_reset": plain(self.env.random),
            "random": plain(random_of(self.env)),
            "action_space": plain(_generators(self.action_space)),
            "actions": None if long else _columns(self._actions),
            "observation": _tensors(self.env.observation),
        }

    def restore(self, saved: Dict[str, Any]) -> None:
        """Let the next reset lead to where ``saved`` was captured."""
        self._saved = saved

    @property
    def restoring(self) -> bool:
        """Whether the next reset leads to where an earlier run was."""
        return self._saved is not None

    def _come_back(self, saved: Dict[str, Any]) -> Tuple[Any, Any]:
        self._saved, self._seed = None, None
        actions = [] if saved["actions"] is None else _rows(saved["actions"])
        if saved["seed"] is None:
            self.env.reset(seed=0)  # an environment may make its generator at its first reset
            set_random(self.env, unplain(saved["random_at_reset"]))
        observation, info = self.env.reset(seed=saved["seed"])
        for action in actions:
            observation, _, _, _, info = self.env.step(action)
        self._actions = actions
        _set_generators(self.action_space, unplain(saved["action_space"]))
        if saved["actions"] is not None and _equal(observation, saved["observation"]):
            return observation, info
        self.restarted = True
        set_random(self.env, unplain(saved["random"]))
        return self.reset()


def _generators(space: Any) -> Any:
    """The state of a space's generator; of a dictionary of spaces, of each one's."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: _generators(part) for name, part in space.spaces.items()}
    return space.np_random.bit_generator.state


def _set_generators(space: Any, states: Any) -> None:
    if isinstance(space, gymnasium.spaces.Dict):
        for name, part in space.spaces.items():
            _set_generators(part, states[name])
    else:
        space.np_random.bit_generator.state = states


def _columns(actions: List[Any]) -> Any:
    if actions and isinstance(actions[0], dict):
        return {name: _columns([action[name] for action in actions]) for name in actions[0]}
    return torch.from_numpy(np.array(actions))


def _rows(columns: Any) -> List[Any]:
    if isinstance(columns, dict):
        return [dict(zip(columns, row)) for row in zip(*map(_rows, columns.values()))]
    return list(columns.numpy())


def _tensors(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: _tensors(part) for name, part in observation.items()}
    return torch.from_numpy(np.array(observation))


def _equal(observation: Any, saved: Any) -> bool:
    if isinstance(saved, dict):
        return observation.keys() == saved.keys() and all(_equal(observation[name], saved[name]) for name in saved)
    return np.array_equal(observation, saved.numpy())
