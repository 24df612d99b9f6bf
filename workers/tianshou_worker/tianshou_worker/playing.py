"""Evaluation, recording and interaction: the networks of a checkpoint play."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_worker.rl import playing
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.monitor import Monitor
from mosaic_worker.rl.resuming import fitting
from mosaic_worker.session import Session
from tianshou.data import Batch, to_numpy
from tianshou.utils.torch_utils import policy_within_training_step, torch_train_mode

from tianshou_worker import environments, state
from tianshou_worker.algorithms import RECIPES
from tianshou_worker.checkpoints import CHECKPOINTS
from tianshou_worker.config import TianshouConfig
from tianshou_worker.native import Settings, check


class Playing(playing.Playing):
    """One algorithm's policy, and environments by themselves."""

    def __init__(self, config: TianshouConfig, session: Session) -> None:
        check(config.spec)
        super().__init__(config.spec, session, CHECKPOINTS)
        self._config = config

    def make_env(self) -> Any:
        """As Gymnasium makes it."""
        return Monitor(environments.make(self._spec))

    def make_policy(self, env: Any, loaded: dict[str, Any]) -> Policy:
        """The algorithm's networks."""
        algorithm = RECIPES[self._spec.algo.name].build(Settings(self._config.settings), env, self._config.pace)
        with fitting(Path(self._spec.resume.checkpoint)):
            state.restore_policy(algorithm, loaded["algorithm"])
        return player(algorithm.policy, self._config, deterministic=self._spec.eval.deterministic)


def player(policy: Any, config: TianshouConfig, *, deterministic: bool) -> Policy:
    """Actions of ``policy``: its best ones, or those that training would take."""
    if hasattr(policy, "deterministic_eval"):
        policy.deterministic_eval = True
    if config.exploration:
        policy.set_eps_training(config.exploration.end)

    def act(observations: np.ndarray) -> np.ndarray:
        batch = Batch(obs=observations, info=Batch())
        with torch.no_grad(), torch_train_mode(policy, False), policy_within_training_step(policy, not deterministic):
            actions = to_numpy(policy(batch).act)
            if not deterministic:
                actions = policy.add_exploration_noise(actions, batch)
        mapped: np.ndarray = policy.map_action(actions)
        return mapped

    return act
