"""Several agents, as RLlib wants them, and which of its modules acts for which agent."""

from functools import partial
from typing import Any

import gymnasium
from mosaic_worker.errors import UserError
from ray.rllib.env.multi_agent_env import MultiAgentEnv


class Team(MultiAgentEnv):
    """A team's environment, watched, with the face that RLlib knows."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__()
        self.env = env
        self.agents = self.possible_agents = env.unwrapped.agents
        self.observation_spaces = dict(env.unwrapped.observation_space.spaces)
        self.action_spaces = dict(env.unwrapped.action_space.spaces)
        self.metadata, self.render_mode = env.metadata, env.render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        return self.env.reset(seed=seed, options=options)

    def step(self, action_dict: dict[str, Any]) -> Any:
        """Take a step with an action of each agent; an episode ends for all of them at once."""
        observations, _, terminated, truncated, info = self.env.step(action_dict)
        over = {**dict.fromkeys(self.agents, terminated), "__all__": terminated}
        cut = {**dict.fromkeys(self.agents, truncated), "__all__": truncated}
        return observations, info["agent_rewards"], over, cut, {}

    def close(self) -> None:
        """Let go of the environment."""
        self.env.close()


def module_of(agent: str, *_: Any, policies: str, **__: Any) -> str:
    """The module that acts for ``agent``; a group has one name before the numbers of its agents."""
    return {"shared": "shared", "independent": agent, "by_group": agent.rstrip("0123456789").rstrip("_")}[policies]


def spaces_of(env: gymnasium.Env, policies: str) -> dict[str, tuple[Any, Any]]:
    """Observation and action space of each module.

    Raises:
        UserError: one module cannot act for agents whose spaces differ.
    """
    found: dict[str, tuple[Any, Any]] = {}
    for agent in env.unwrapped.agents:
        own = (env.observation_space[agent], env.action_space[agent])
        module = module_of(agent, policies=policies)
        if found.setdefault(module, own) != own:
            raise UserError(
                f"algo.policies: {policies} gives {agent} the policy of an agent with other spaces; "
                "by_group or independent may do"
            )
    return found


def configure(algorithm: Any, env: gymnasium.Env, policies: str) -> None:
    """Tell RLlib which modules there are.

    Raises:
        UserError: one module cannot act for agents whose spaces differ.
    """
    modules = set(spaces_of(env, policies))
    algorithm.multi_agent(policies=modules, policy_mapping_fn=partial(module_of, policies=policies))
