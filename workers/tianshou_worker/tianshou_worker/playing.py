"""Evaluation, recording and interaction: the networks of a checkpoint play."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_worker.errors import UserError
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.rl.interaction import Interaction
from mosaic_worker.rl.monitor import Monitor
from mosaic_worker.rl.playing import play
from mosaic_worker.session import Session
from tianshou.data import Batch, to_numpy
from tianshou.utils.torch_utils import policy_within_training_step, torch_train_mode

from tianshou_worker import environments, state
from tianshou_worker.algorithms import RECIPES
from tianshou_worker.checkpoints import CHECKPOINTS
from tianshou_worker.config import TianshouConfig
from tianshou_worker.native import Settings, check


class Playing:
    """One algorithm's policy, and environments by themselves."""

    def __init__(self, config: TianshouConfig, session: Session) -> None:
        self._config, self._spec, self._session = config, config.spec, session
        check(self._spec.algo.name, self._spec.algo.native)
        self._loaded = CHECKPOINTS.load_for(self._spec)

    def run(self) -> None:
        """Play what the mode asks for."""
        play(self._spec, self._session, self._env, self._policy)

    def interact(self, serve: Callable[[Interaction], None]) -> None:
        """Serve one environment and, where there is a checkpoint, its policy."""
        env = self._env()
        serve(Interaction(env, self._policy(env) if self._loaded is not None else None, self._spec))

    def save_checkpoint(self, directory: Path) -> None:
        """Nothing was trained."""

    def close(self) -> None:
        """Nothing is left open."""

    def _env(self) -> Any:
        return Monitor(environments.make(self._spec))

    def _policy(self, env: Any) -> Policy:
        recipe, path = RECIPES[self._spec.algo.name], Path(self._spec.resume.checkpoint)
        algorithm = recipe.build(Settings(self._config.settings), env, self._config.pace)
        assert self._loaded is not None
        try:
            state.restore_policy(algorithm, self._loaded["algorithm"])
        except RuntimeError as error:
            raise UserError(f"{path}: does not fit this run: {error}") from error
        self._session.checkpoint_loaded(path, self._loaded["env_steps"])
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
