"""Teams that Gymnasium knows as one environment, whose observations, actions and rewards are tuples of the agents'."""

from typing import Any, Dict, Optional, Tuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from mosaic_worker.errors import UserError
from mosaic_worker.rl.team import TeamEnv

FAMILIES = {"lbf": ("lbforaging", "_max_episode_steps"), "rware": ("rware", "max_steps")}
"""For each family the module that registers its environments, and their attribute with an episode's greatest length."""
ENDLESS = 100_000
"""What an environment without a limit says is its longest episode."""


class TupleTeam:
    """Such an environment with the face of PettingZoo's parallel ones; its agents are ``agent_0``, ``agent_1``, …."""

    def __init__(self, env: gymnasium.Env, max_cycles: int) -> None:
        self._env, self.max_cycles = env, max_cycles
        self.possible_agents = [f"agent_{number}" for number in range(len(env.action_space))]
        self.metadata = {**env.metadata, "name": env.spec.id}
        self.render_mode = "rgb_array"  # asked for a picture, it says why there is none
        self._observations: Tuple[np.ndarray, ...] = ()
        lows, highs = zip(*((space.low.ravel(), space.high.ravel()) for space in env.observation_space))
        self.state_space = Box(np.concatenate(lows), np.concatenate(highs), dtype=np.float32)

    @property
    def unwrapped(self) -> "TupleTeam":
        """What has ``max_cycles`` and ``np_random``."""
        return self

    @property
    def np_random(self) -> Any:
        """The generator that decides how episodes begin."""
        return self._env.unwrapped.np_random

    def observation_space(self, agent: str) -> Any:
        """What ``agent`` may see."""
        return self._env.observation_space[self.possible_agents.index(agent)]

    def action_space(self, agent: str) -> Any:
        """What ``agent`` may do."""
        return self._env.action_space[self.possible_agents.index(agent)]

    def reset(self, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Any:
        """Begin an episode."""
        self._observations, _ = self._env.reset(seed=seed, options=options)
        return self._by_agent(self._observations), {}

    def step(self, actions: Dict[str, Any]) -> Any:
        """Take a step with an action of each agent; an episode ends for all of them at once."""
        taken = tuple(actions[agent] for agent in self.possible_agents)
        self._observations, rewards, terminated, truncated, _ = self._env.step(taken)
        ends = (dict.fromkeys(self.possible_agents, bool(end)) for end in (terminated, truncated))
        return self._by_agent(self._observations), self._by_agent(rewards), *ends, {}

    def state(self) -> np.ndarray:
        """What all agents together see."""
        return np.concatenate([observation.ravel() for observation in self._observations], dtype=np.float32)

    def render(self) -> Any:
        """There is none: these draw into windows."""
        raise UserError("this environment has no pictures: it can only draw into a window")

    def close(self) -> None:
        """Let go of the environment."""
        self._env.close()

    def _by_agent(self, parts: Any) -> Dict[str, Any]:
        return dict(zip(self.possible_agents, parts))


def make(family: str, env_id: str, arguments: Dict[str, Any]) -> TeamEnv:
    """The environment ``env_id`` of one of :data:`FAMILIES`, made with ``arguments``.

    Raises:
        UserError: there is none of that name, or it does not take these arguments.
    """
    module, limit = FAMILIES[family]
    try:
        env = gymnasium.make(f"{module}:{env_id}", disable_env_checker=True, **arguments)
    except gymnasium.error.Error as error:
        raise UserError(f"env.id: {module} has no {env_id}: {error}") from error
    except (TypeError, AssertionError) as error:
        raise UserError(f"env.kwargs: {env_id} does not take them: {error}") from error
    return TeamEnv(TupleTeam(env, getattr(env.unwrapped, limit) or ENDLESS))
