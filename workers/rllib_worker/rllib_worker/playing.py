"""Evaluation, recording and interaction: the networks of a checkpoint play, without Ray."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from mosaic_worker.rl import playing
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.monitor import Monitor
from mosaic_worker.rl.resuming import fitting
from mosaic_worker.session import Session
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env import INPUT_ENV_SPACES
from ray.rllib.utils.spaces.space_utils import unsquash_action

from rllib_worker import environments, state
from rllib_worker.algorithms import algorithm_config
from rllib_worker.checkpoints import CHECKPOINTS
from rllib_worker.config import RllibConfig
from rllib_worker.team import module_of, spaces_of


class Playing(playing.Playing):
    """One algorithm's networks, and environments by themselves."""

    def __init__(self, config: RllibConfig, session: Session) -> None:
        self._config, self._algorithm = config, algorithm_config(config)
        super().__init__(config.spec, session, CHECKPOINTS)

    def make_env(self) -> Any:
        """For one agent or several."""
        return Monitor(environments.make(vars(self._spec.env)))

    def make_policy(self, env: Any, loaded: dict[str, Any]) -> Policy:
        """The modules' networks."""
        policies, spaces = self._config.policies, (env.observation_space, env.action_space)
        own = spaces_of(env, policies) if policies else {DEFAULT_MODULE_ID: spaces}
        described = self._algorithm.get_multi_rl_module_spec(
            spaces={INPUT_ENV_SPACES: spaces, **own}, inference_only=True
        )
        modules, saved = described.build(), loaded["algorithm"]["learner_group"]["learner"]["rl_module"]
        with fitting(Path(self._spec.resume.checkpoint)):
            for name in own:
                modules[name].set_state(state.unplain(saved[name]))
        players = {
            name: _player(modules[name], space, loaded["env_steps"], self._spec.eval.deterministic)
            for name, (_, space) in own.items()
        }
        return _team(players, env.unwrapped.agents, policies) if policies else players[DEFAULT_MODULE_ID]


def _team(players: dict[str, Policy], agents: list[str], policies: str) -> Policy:
    """Actions of all agents, by name, for observations by name."""

    def act(observations: np.ndarray) -> Any:
        actions = {
            agent: players[module_of(agent, policies=policies)](np.stack([seen[agent] for seen in observations]))
            for agent in agents
        }
        return [{agent: actions[agent][number] for agent in agents} for number in range(len(observations))]

    return act


def _player(module: Any, space: Any, env_steps: int, deterministic: bool) -> Policy:
    """Actions of ``module``: its best ones, or those that training would take after ``env_steps`` steps."""

    def act(observations: np.ndarray) -> np.ndarray:
        seen = torch.from_numpy(observations.astype(np.float32))
        with torch.no_grad():
            taken = _actions(module, {Columns.OBS: seen}, env_steps, deterministic)
        actions = taken.numpy()
        return np.stack([unsquash_action(action, space) for action in actions]) if isinstance(space, Box) else actions

    return act


def _actions(module: Any, batch: dict[str, Any], env_steps: int, deterministic: bool) -> Any:
    if deterministic:
        said, kind = module.forward_inference(batch), module.get_inference_action_dist_cls
    else:
        said, kind = module.forward_exploration(batch, t=env_steps), module.get_exploration_action_dist_cls
    if Columns.ACTIONS in said:
        return said[Columns.ACTIONS]
    distribution = kind().from_logits(said[Columns.ACTION_DIST_INPUTS])
    return (distribution.to_deterministic() if deterministic else distribution).sample()
