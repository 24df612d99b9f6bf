"""Several agents that act at the same time, as one Gymnasium environment."""

import difflib
import importlib
import math
import pkgutil
import re
from typing import Any, Dict, List, Optional, Tuple

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic_worker.errors import UserError


class TeamEnv(gymnasium.Env):
    """A parallel environment of PettingZoo: observations and actions are dictionaries, the reward is the agents' sum.

    The agents' own rewards are in ``info["agent_rewards"]``, and since the last reset in ``agent_returns``.
    """

    def __init__(self, parallel: Any) -> None:
        self._parallel = parallel
        self.agents: List[str] = list(parallel.possible_agents)
        self.observation_space = spaces.Dict({agent: parallel.observation_space(agent) for agent in self.agents})
        self.action_space = spaces.Dict({agent: parallel.action_space(agent) for agent in self.agents})
        self._copy: Any = np.array if any(isinstance(one, spaces.Box) for one in self.action_space.values()) else int
        self.metadata, self.render_mode = parallel.metadata, parallel.render_mode
        self.max_episode_steps: int = parallel.unwrapped.max_cycles
        self.agent_returns = dict.fromkeys(self.agents, 0.0)

    @property
    def np_random(self) -> Any:
        """The generator that decides how episodes begin."""
        return self._parallel.unwrapped.np_random

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Any]:
        """Begin an episode."""
        self.agent_returns = dict.fromkeys(self.agents, 0.0)
        observations, _ = self._parallel.reset(seed=seed, options=options)
        return observations, {}

    def step(self, action: Dict[str, Any]) -> Any:
        """Take a step with an action of each agent; an episode ends for all of them at once."""
        taken = {agent: self._copy(one) for agent, one in action.items()}  # mpe2 divides arrays of actions in place
        observations, rewards, terminated, truncated, _ = self._parallel.step(taken)
        for agent, reward in rewards.items():
            self.agent_returns[agent] += float(reward)
        over, cut = all(terminated.values()), any(truncated.values())
        return observations, math.fsum(rewards.values()), over, cut and not over, {"agent_rewards": rewards}

    def state(self) -> Any:
        """What all agents together see."""
        return self._parallel.state()

    @property
    def state_space(self) -> Any:
        """The space of :meth:`state`."""
        return self._parallel.state_space

    def render(self) -> Any:
        """The environment's picture."""
        return self._parallel.render()

    def close(self) -> None:
        """Let go of the environment."""
        self._parallel.close()


def make(name: str, arguments: Dict[str, Any]) -> TeamEnv:
    """The particle environment ``name``, made with ``arguments``.

    Raises:
        UserError: there is none of that name, or it does not take these arguments.
    """
    valid = _names()
    if name not in valid:
        near = difflib.get_close_matches(name.rpartition("/")[2], valid, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(valid)}"
        raise UserError(f"env.id: there is no particle environment {name!r}; {hint}")
    try:
        module = importlib.import_module(f"mpe2.{name}")
        return TeamEnv(module.parallel_env(**{"render_mode": "rgb_array", **arguments}))
    except TypeError as error:
        raise UserError(f"env.kwargs: {name} does not take them: {error}") from error


def _names() -> List[str]:
    """The particle environments that are installed; each name ends with a version."""
    modules = pkgutil.iter_modules(importlib.import_module("mpe2").__path__)
    return sorted(module.name for module in modules if re.search(r"_v\d+$", module.name))
