"""``python -m rllib_worker.cli``: the kit's command line over this worker."""

import sys
from typing import Any

from mosaic_worker.cli import main
from mosaic_worker.interfaces import WorkerRuntime
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, trains

from rllib_worker.config import RllibConfig


class RllibWorker:
    """What the kit needs of this worker."""

    package = "rllib_worker"

    def config(self, spec: Spec) -> RllibConfig:
        """The spec in RLlib's terms."""
        return RllibConfig.from_spec(spec)

    def runtime(self, config: RllibConfig, session: Session) -> WorkerRuntime:
        """The algorithm, ready to run; Ray is imported and, for training, started here."""
        if not trains(config.spec):
            from rllib_worker.playing import Playing

            return Playing(config, session)
        from rllib_worker.checkpoints import CHECKPOINTS

        loaded = CHECKPOINTS.load_for(config.spec)
        from rllib_worker.cluster import Cluster

        cluster = Cluster(config)  # before anything of Ray is imported: it reads its environment variables then
        from rllib_worker.training import Training

        session.listen()  # Ray has put a handler in front of ours, which writes a stack to the log and may abort
        try:
            return Training(config, session, loaded, cluster)
        except BaseException:
            cluster.close()
            raise

    def native_parameters(self) -> dict[str, dict[str, Any]]:
        """What RLlib's configs take."""
        from rllib_worker.native import native_parameters

        return native_parameters()


if __name__ == "__main__":
    sys.exit(main(RllibWorker()))
