"""Training: RLlib's iterations, from the beginning or from where a checkpoint was taken."""

from pathlib import Path
from typing import Any

from mosaic_worker.rl import randomness
from mosaic_worker.rl.resuming import (
    buffer_fits,
    fitting,
    is_of_another_env,
    refuse_other_count,
    refuse_used_up,
    tell_restarted,
)
from mosaic_worker.rl.tracking import Tracker
from mosaic_worker.session import Session
from ray.train._internal.storage import StorageContext

from rllib_worker import replay, state
from rllib_worker.algorithms import algorithm_config
from rllib_worker.checkpoints import CHECKPOINTS
from rllib_worker.cluster import Cluster
from rllib_worker.config import RllibConfig
from rllib_worker.metrics import report_metrics
from rllib_worker.reports import report


class Training:
    """One algorithm, left and taken up between two iterations."""

    def __init__(self, config: RllibConfig, session: Session, loaded: dict[str, Any] | None, cluster: Cluster) -> None:
        if loaded and loaded["buffer"] and loaded["buffer"]["rows"] is None:
            config = config.refilling(loaded["env_steps"])
        self._config, self._spec, self._session, self._cluster = config, config.spec, session, cluster
        self._loaded = loaded
        self._ready = False
        self._tracker = Tracker(session, self._spec)
        built = algorithm_config(config)
        self._algorithm: Any = built.algo_class(config=built, storage=_storage(cluster.directory))
        self._buffer: Any = self._algorithm.local_replay_buffer
        if self._buffer is not None:
            replay.seed(self._buffer, self._spec.seed)

    def run(self) -> None:
        """Train until no further iteration fits into the budget."""
        if self._loaded is not None:
            self._restore(self._loaded)
            self._loaded, self._ready = None, True
        pace = self._config.pace
        self._session.tick(0)  # the clock of steps a second runs from here, not from the first iteration's end
        while self._session.env_steps + pace.collected <= pace.total:
            self._session.safe_point(self.save_checkpoint)
            result = self._algorithm.train()
            self._ready = True
            report(result, self._session)
            report_metrics(result, self._session)

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save all that training needs to go on; None where it was stopped before it could begin."""
        if not self._ready:
            return None
        captured = {
            "learning_rate": self._config.settings.get("lr"),
            "algorithm": state.plain(self._algorithm.get_state()),
            "left_out": state.capture_left_out(self._algorithm),
            "buffer": self._captured_buffer(),
            "runners": state.capture_runners(self._algorithm),
            "random": randomness.capture(),
        }
        return CHECKPOINTS.save(directory, self._spec, self._session, captured)

    def _captured_buffer(self) -> dict[str, Any] | None:
        if self._buffer is None:
            return None
        fits = buffer_fits(replay.size(self._buffer), self._spec, self._session)
        return replay.capture(self._buffer, with_rows=fits)

    def close(self) -> None:
        """Let go of the algorithm, the files and Ray."""
        self._tracker.close()
        self._algorithm.stop()
        self._cluster.close()

    def _restore(self, loaded: dict[str, Any]) -> None:
        path, pace = Path(self._spec.resume.checkpoint), self._config.pace
        refuse_used_up(path, loaded, last=pace.total - pace.collected)
        self._session.continue_from(loaded["env_steps"])
        with fitting(path):
            self._algorithm.set_state(state.unplain(loaded["algorithm"]))
        state.restore_left_out(self._algorithm, loaded["left_out"])
        if self._buffer is not None:
            replay.restore(self._buffer, loaded["buffer"])
        rate = self._config.settings.get("lr")
        if rate != loaded["learning_rate"] and isinstance(rate, float):
            state.set_learning_rate(self._algorithm, rate)
        self._restore_environments(loaded, path)
        self._session.checkpoint_loaded(path, loaded["env_steps"])

    def _restore_environments(self, loaded: dict[str, Any], path: Path) -> None:
        layout, saved = self._config.layout, sum(len(runner["environments"]) for runner in loaded["runners"])
        wanted = max(layout.env_runners, 1) * layout.envs_per_runner
        refuse_other_count(path, saved, wanted)
        if not is_of_another_env(loaded, self._spec, self._session):
            tell_restarted(state.restore_runners(self._algorithm, loaded["runners"]), self._session)
        state.count_from(self._algorithm, loaded["env_steps"])
        randomness.restore(loaded["random"])


def _storage(directory: Path) -> StorageContext:
    """Where RLlib may write what it always writes: not into the user's home."""
    return StorageContext(str(directory), experiment_dir_name="rllib", trial_dir_name="run")
