"""Several agents that act at the same time, as one Gymnasium environment, and as XuanCe wants them."""

import importlib
import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec
from xuance.environment import DummyVecMultiAgentEnv, RawMultiAgentEnv, XuanCeMultiAgentEnvWrapper


class TeamEnv(gymnasium.Env):
    """A parallel environment of PettingZoo: observations and actions are dictionaries, the reward is the agents' sum.

    The agents' own rewards are in ``info["agent_rewards"]``, and since the last reset in ``agent_returns``.
    """

    def __init__(self, parallel: Any) -> None:
        self._parallel = parallel
        self.agents: list[str] = list(parallel.possible_agents)
        self.observation_space = Dict({agent: parallel.observation_space(agent) for agent in self.agents})
        self.action_space = Dict({agent: parallel.action_space(agent) for agent in self.agents})
        self.metadata, self.render_mode = parallel.metadata, parallel.render_mode
        self.max_episode_steps: int = parallel.unwrapped.max_cycles
        self.agent_returns = dict.fromkeys(self.agents, 0.0)

    @property
    def np_random(self) -> Any:
        """The generator that decides how episodes begin."""
        return self._parallel.unwrapped.np_random

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self.agent_returns = dict.fromkeys(self.agents, 0.0)
        observations, _ = self._parallel.reset(seed=seed, options=options)
        return observations, {}

    def step(self, action: dict[str, Any]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step with an action of each agent; an episode ends for all of them at once."""
        observations, rewards, terminated, truncated, _ = self._parallel.step(action)
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

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        return self.env.reset(**options)

    def step(self, action_dict: dict[str, Any]) -> Any:
        """Take a step with an action of each agent."""
        action_dict.update(clipped(action_dict, self.action_space))  # in place: what is stored is what was done
        observations, _, terminated, truncated, info = self.env.step(dict(action_dict))
        return observations, info["agent_rewards"], dict.fromkeys(self.agents, terminated), truncated, {}

    def state(self) -> Any:
        """What all agents together see."""
        return self._team.state()

    def avail_actions(self) -> Any:
        """Every action is always there."""
        spaces = self.action_space.items()
        return (
            None if _continuous(self.action_space) else {agent: np.ones(space.n, np.bool_) for agent, space in spaces}
        )

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
        self.buf_obs, self.buf_state = list(self.buf_obs), list(self.buf_state)
        self.buf_avail_actions = list(self.buf_avail_actions)
        return super().step_wait()


def clipped(actions: dict[str, Any], spaces: Any) -> dict[str, Any]:
    """``actions``, continuous ones no further than their bounds: XuanCe explores beyond them."""
    if not _continuous(spaces):
        return actions
    bounds = {agent: spaces[agent] for agent in actions}
    return {agent: np.clip(action, bounds[agent].low, bounds[agent].high) for agent, action in actions.items()}


def make(spec: Spec) -> TeamEnv:
    """The environment of ``spec``: a module of the particle environments.

    Raises:
        UserError: there is none of that name, or it does not take these arguments.
    """
    try:
        module = importlib.import_module(f"mpe2.{spec.env.id}")
        return TeamEnv(module.parallel_env(**{"render_mode": "rgb_array", **spec.env.kwargs}))
    except ModuleNotFoundError as error:
        raise UserError(f"env.id: there is no particle environment {spec.env.id}") from error
    except TypeError as error:
        raise UserError(f"env.kwargs: {spec.env.id} does not take them: {error}") from error


def vector_of(envs: list[Any]) -> TeamVector:
    """XuanCe's vector of ``envs``."""
    return TeamVector([lambda env_seed, env=env: XuanCeMultiAgentEnvWrapper(Team(env)) for env in envs], 0)


def _continuous(spaces: Any) -> bool:
    return isinstance(next(iter(spaces.values())), Box)
