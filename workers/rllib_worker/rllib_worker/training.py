"""Training: RLlib's iterations, from the beginning or from where a checkpoint was taken."""

from pathlib import Path
from typing import Any

from mosaic_worker.session import Session
from ray.train._internal.storage import StorageContext

from rllib_worker.algorithms import algorithm_config
from rllib_worker.cluster import Cluster
from rllib_worker.config import RllibConfig
from rllib_worker.reports import report
from rllib_worker.tracking import Metrics


class Training:
    """One algorithm, left and taken up between two iterations."""

    def __init__(self, config: RllibConfig, session: Session, cluster: Cluster) -> None:
        self._config, self._spec, self._session, self._cluster = config, config.spec, session, cluster
        self._metrics = Metrics(session, self._spec)
        built = algorithm_config(config)
        self._algorithm: Any = built.algo_class(config=built, storage=_storage(cluster.directory))
        self._ready = False

    def run(self) -> None:
        """Train until no further iteration fits into the budget."""
        self._ready = True
        pace = self._config.pace
        while self._session.env_steps + pace.collected <= pace.total:
            self._session.safe_point(self.save_checkpoint)
            result = self._algorithm.train()
            report(result, self._session)
            self._metrics.report(result)

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save all that training needs to go on; None where it was stopped before it could begin."""
        return None

    def close(self) -> None:
        """Let go of the algorithm, the files and Ray."""
        self._metrics.close()
        self._algorithm.stop()
        self._cluster.close()


def _storage(directory: Path) -> StorageContext:
    """Where RLlib may write what it always writes: not into the user's home."""
    return StorageContext(str(directory), experiment_dir_name="rllib", trial_dir_name="run")
