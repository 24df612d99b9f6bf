"""Training from a dataset alone: Tianshou's offline trainer from its beginning, or from a checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.rl import randomness
from mosaic_worker.rl.evaluation import evaluate
from mosaic_worker.rl.monitor import Monitor
from mosaic_worker.rl.resuming import fitting
from mosaic_worker.rl.tracking import Tracker
from mosaic_worker.session import Session
from tianshou.trainer import OfflineTrainerParams

from tianshou_worker import environments, state
from tianshou_worker.algorithms import RECIPES
from tianshou_worker.checkpoints import CHECKPOINTS
from tianshou_worker.config import TianshouConfig
from tianshou_worker.datasets import replay_buffer
from tianshou_worker.native import Settings, check
from tianshou_worker.playing import player
from tianshou_worker.tracking import Metrics
from tianshou_worker.training import seed_everything


class OfflineTraining:
    """One algorithm, left and taken up between two updates."""

    def __init__(self, config: TianshouConfig, session: Session) -> None:
        self._config, self._spec, self._session = config, config.spec, session
        check(self._spec)
        self._loaded = CHECKPOINTS.load_for(self._spec)
        seed_everything(self._spec.seed)
        env = self._env()
        self._buffer = replay_buffer(self._spec, env)
        self._algorithm = RECIPES[self._spec.algo.name].build(Settings(config.settings), env, config.pace)
        env.close()
        self._metrics, self._tracker = _Metrics(session, self._updated), Tracker(session, self._spec)
        self._updates = 0
        self._ready = False

    def run(self) -> None:
        """Make the updates, and play to see what came of them."""
        if self._loaded is not None:
            self._restore(self._loaded)
            self._loaded = None
        self._session.continue_from(0, self._updates)
        self._ready = True
        params = OfflineTrainerParams(
            buffer=self._buffer,
            batch_size=self._config.pace.batch_size,
            max_epochs=1,
            epoch_num_steps=self._config.pace.total - self._updates,
            logger=self._metrics,
            verbose=False,
            show_progress=False,
        )
        if params.epoch_num_steps:
            self._algorithm.create_trainer(params).run()
        self._session.checkpoints.save(self.save_checkpoint)  # an evaluation may fail, or be stopped
        self._evaluate()

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save all that training needs to go on; None where it was stopped before it could begin."""
        if not self._ready:
            return None
        captured = {
            "dataset": self._spec.dataset.sha256,
            "algorithm": state.capture_algorithm(self._algorithm),
            "buffer": randomness.plain(self._buffer._random_state.get_state(legacy=False)),
            "random": randomness.capture(),
        }
        return CHECKPOINTS.save(directory, self._spec, self._session, captured)

    def close(self) -> None:
        """Let go of files."""
        self._tracker.close()

    def _env(self) -> Any:
        return Monitor(environments.make(self._spec))

    def _updated(self) -> None:
        """An update was made: here training can be left, unless it was the last one."""
        self._updates += 1
        self._session.update()
        if self._updates == self._config.pace.total:
            return
        interval = self._spec.eval.interval
        if interval and self._updates % interval == 0:
            self._evaluate()
        if self._session.wants_safe_point:
            self._session.safe_point(self.save_checkpoint)

    def _evaluate(self) -> None:
        """Play with the present policy; the random numbers of training stay as they were."""
        random, deterministic = randomness.capture(), self._spec.eval.deterministic
        policy = player(self._algorithm.policy, self._config, deterministic=deterministic)
        try:
            evaluate(self._spec, self._session, self._env, lambda env: policy, counts=False)
        finally:
            randomness.restore(random)

    def _restore(self, loaded: dict[str, Any]) -> None:
        path, made = Path(self._spec.resume.checkpoint), loaded["updates"]
        if made > self._config.pace.total:
            raise UserError(f"{path}: the checkpoint has used up this budget: {made} updates were made")
        if loaded["dataset"] != self._spec.dataset.sha256:
            raise UserError(f"{path}: has learned from another dataset than {self._spec.dataset.path}")
        with fitting(path):
            state.restore_algorithm(self._algorithm, loaded["algorithm"])
        self._buffer._random_state.set_state(randomness.unplain(loaded["buffer"]))
        randomness.restore(loaded["random"])
        self._updates = made
        self._session.checkpoint_loaded(path, 0)


class _Metrics(Metrics):
    """Told of each update, which Tianshou's offline trainer tells nobody else."""

    def __init__(self, session: Session, updated: Callable[[], None]) -> None:
        super().__init__(session, collected=1)
        self._updated = updated

    def log_update_data(self, log_data: dict[str, Any], step: int) -> None:
        """Report, now and then."""
        super().log_update_data(log_data, step)
        self._updated()
