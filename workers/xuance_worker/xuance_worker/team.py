"""Several agents that act at the same time, as XuanCe wants them."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from xuance.environment import DummyVecMultiAgentEnv, RawMultiAgentEnv, XuanCeMultiAgentEnvWrapper


class Team(RawMultiAgentEnv):
    """A team's environment, watched, with the face that XuanCe knows."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__()
        self.env, self._team = env, env.unwrapped
        self.agents, self.num_agents = self._team.agents, len(self._team.agents)
        self.agent_groups = [[agent] for agent in self.agents]
        self.observation_space = dict(self._team.observation_space.spaces)
        self.action_space = dict(self._team.action_space.spaces)
        self.state_space, self.max_episode_steps = self._team.state_space, self._team.max_episode_steps
        self.metadata, self.render_mode = env.metadata, env.render_mode
        self._bounds = bounds(self.action_space)
        self._available: dict[str, Any] | None = None
        if not self._bounds:
            self._available = {agent: np.ones(space.n, np.bool_) for agent, space in self.action_space.items()}

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        return self.env.reset(**options)

    def step(self, action_dict: dict[str, Any]) -> Any:
        """Take a step with an action of each agent."""
        clip(action_dict, self._bounds)  # in place: what is stored is what was done
        observations, _, terminated, truncated, info = self.env.step(action_dict)
        return observations, info["agent_rewards"], dict.fromkeys(self.agents, terminated), truncated, {}

    def state(self) -> Any:
        """What all agents together see."""
        return self._team.state()

    def avail_actions(self) -> Any:
        """Every action is always there."""
        return self._available

    def render(self, *_: Any) -> Any:
        """The environment's picture."""
        return self.env.render()

    def close(self) -> None:
        """Let go of the environment."""
        self.env.close()


class TeamVector(DummyVecMultiAgentEnv):
    """XuanCe's vector; ``train`` begins with its lists in hand, which must stay as they are while it steps."""

    buf_obs: Any
    buf_state: Any
    buf_avail_actions: Any

    def step_wait(self) -> Any:
        """Take the step."""
        self.buf_obs, self.buf_state = list(self.buf_obs), [None] * self.num_envs
        self.buf_avail_actions = list(self.buf_avail_actions)
        return super().step_wait()

    def take_up(self, begun: list[int]) -> None:
        """Off-policy ``train`` is called again, and the environments ``begun`` have just begun an episode.

        Had it not been left, it would take the state of the last of them for that of all: so it does here.
        """
        if begun:
            self.buf_state = self.buf_state[begun[-1]]


def bounds(spaces: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The lowest and highest of each agent's continuous actions; nothing where they are discrete."""
    return {agent: (space.low, space.high) for agent, space in spaces.items() if isinstance(space, Box)}


def clip(actions: dict[str, Any], limits: dict[str, tuple[Any, Any]]) -> None:
    """Keep ``actions`` within ``limits``, in place: XuanCe explores beyond them."""
    for agent, (low, high) in limits.items():
        actions[agent] = np.minimum(np.maximum(actions[agent], low), high)  # np.clip takes several times as long


def vector_of(envs: list[Any]) -> TeamVector:
    """XuanCe's vector of ``envs``."""
    return TeamVector([lambda env_seed, env=env: XuanCeMultiAgentEnvWrapper(Team(env)) for env in envs], 0)
