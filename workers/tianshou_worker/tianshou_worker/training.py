"""Training: Tianshou's trainer from its beginning, or from where a checkpoint was taken."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_worker.rl import randomness
from mosaic_worker.rl.resuming import buffer_fits, come_back, fitting, refuse_other_count, refuse_used_up
from mosaic_worker.rl.tracking import Tracker
from mosaic_worker.session import Session
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.torch_utils import policy_within_training_step

from tianshou_worker import environments, state
from tianshou_worker.algorithms import RECIPES
from tianshou_worker.checkpoints import CHECKPOINTS
from tianshou_worker.config import TianshouConfig
from tianshou_worker.datasets import replay_buffer
from tianshou_worker.native import Settings, check
from tianshou_worker.tracking import Metrics


class Training:
    """One algorithm, left and taken up where a training step begins."""

    def __init__(self, config: TianshouConfig, session: Session) -> None:
        self._config, self._spec, self._pace, self._session = config, config.spec, config.pace, session
        check(self._spec)
        self._loaded = CHECKPOINTS.load_for(self._spec)
        self._recipe = RECIPES[self._spec.algo.name]
        self._settings = Settings(config.settings)
        seed_everything(self._spec.seed)
        self._vector, self._envs = environments.make_training(self._spec, self._pace.num_envs, session)
        if config.dataset:
            self._settings.values["expert_buffer"] = replay_buffer(self._spec, self._envs[0])
        self._algorithm = self._recipe.build(self._settings, self._envs[0], self._pace)
        buffer_kind = self._recipe.buffer or VectorReplayBuffer
        buffer = buffer_kind(
            self._buffer_size(),
            self._pace.num_envs,
            random_seed=self._spec.seed,
            **{name: self._settings.values.get(name, value) for name, value in self._recipe.buffer_settings.items()},
        )
        self._collector = Collector(
            self._algorithm, self._vector, buffer, exploration_noise=True, raise_on_nan_in_buffer=False
        )
        self._tracker = Tracker(session, self._spec)
        self._fill_until = self._pace.learning_starts
        self._ready = False

    def run(self) -> None:
        """Train until the budget is used up."""
        if self._loaded is not None:
            self._restore(self._loaded)
            self._loaded = None
        else:
            self._collector.reset_env()
        self._ready = True
        self._fill()
        left = (self._pace.total - self._session.env_steps) // self._pace.collected * self._pace.collected
        if left > 0:
            self._algorithm.create_trainer(self._trainer_params(left)).run(reset_collectors=False)
        else:
            self._session.warning("the budget ends before the first update: nothing was learned")

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save all that training needs to go on; None where it was stopped before it could begin."""
        if not self._ready:
            return None
        buffer = self._collector.buffer
        fits = buffer_fits(state.buffer_size(buffer), self._spec, self._session)
        captured = {
            "algorithm": state.capture_algorithm(self._algorithm),
            "buffer": state.capture_buffer(buffer, with_rows=fits),
            "environments": [env.capture() for env in self._envs],
            "random": randomness.capture(),
        }
        return CHECKPOINTS.save(directory, self._spec, self._session, captured)

    def close(self) -> None:
        """Let go of environments and files."""
        self._tracker.close()
        self._vector.close()

    def _buffer_size(self) -> int:
        """Of an on-policy algorithm: what is collected for one update."""
        return self._pace.collected if self._recipe.on_policy else self._settings.values.get("total_size", 20_000)

    def _trainer_params(self, steps: int) -> OnPolicyTrainerParams | OffPolicyTrainerParams:
        common: dict[str, Any] = {
            "training_collector": self._collector,
            "max_epochs": 1,
            "epoch_num_steps": steps,
            "collection_step_num_env_steps": self._pace.collected,
            "batch_size": self._pace.batch_size,
            "training_fn": lambda epoch, env_step: self._head(),
            "logger": Metrics(self._session, self._pace.collected),
            "verbose": False,
            "show_progress": False,
        }
        if self._recipe.on_policy:
            return OnPolicyTrainerParams(**common, update_step_num_repetitions=self._pace.repetitions)
        name = "update_step_num_gradient_steps_per_sample"
        return OffPolicyTrainerParams(**common, **{name: self._settings.values.get(name, 1 / self._pace.collected)})

    def _head(self) -> None:
        """A training step begins: here training can be left, and epsilon follows its schedule."""
        if self._session.wants_safe_point:
            self._session.safe_point(self.save_checkpoint)
        if self._config.exploration:
            self._algorithm.policy.set_eps_training(self._config.exploration.epsilon(self._session.env_steps))

    def _fill(self) -> None:
        """Collect what there should be before the first update."""
        uniform = self._recipe.random_start and self._session.env_steps < self._pace.learning_starts
        with policy_within_training_step(self._algorithm.policy):
            while self._session.env_steps < self._fill_until:
                self._head()
                self._collector.collect(n_step=self._pace.collected, random=uniform)

    def _restore(self, loaded: dict[str, Any]) -> None:
        path = Path(self._spec.resume.checkpoint)
        refuse_used_up(path, loaded, last=self._pace.total - 1)
        refuse_other_count(path, len(loaded["environments"]), len(self._envs))
        with fitting(path):
            state.restore_algorithm(self._algorithm, loaded["algorithm"])
            state.restore_buffer(self._collector.buffer, loaded["buffer"])
        come_back(self._envs, loaded, self._spec, self._session, self._collector.reset_env)
        randomness.restore(loaded["random"])
        self._session.continue_from(loaded["env_steps"])
        self._session.checkpoint_loaded(path, loaded["env_steps"])
        if loaded["buffer"]["rows"] is None:
            self._fill_until = min(loaded["env_steps"] + self._pace.learning_starts, self._pace.total)


def seed_everything(seed: int) -> None:
    """Seed the generators of this process."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
