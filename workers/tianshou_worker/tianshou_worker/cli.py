"""``python -m tianshou_worker.cli``: the kit's command line over this worker."""

import sys
from typing import Any

from mosaic_worker.cli import main
from mosaic_worker.interfaces import WorkerRuntime
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, trains

from tianshou_worker.config import TianshouConfig


class TianshouWorker:
    """What the kit needs of this worker."""

    package = "tianshou_worker"

    def config(self, spec: Spec) -> TianshouConfig:
        """The spec in Tianshou's terms."""
        return TianshouConfig.from_spec(spec)

    def runtime(self, config: TianshouConfig, session: Session) -> WorkerRuntime:
        """The algorithm, ready to run; torch and Tianshou are imported here."""
        if not trains(config.spec):
            from tianshou_worker.playing import Playing

            return Playing(config, session)
        if config.offline:
            from tianshou_worker.offline import OfflineTraining

            return OfflineTraining(config, session)
        from tianshou_worker.training import Training

        return Training(config, session)

    def native_parameters(self) -> dict[str, dict[str, Any]]:
        """What the constructors of Tianshou's classes take."""
        from tianshou_worker.native import native_parameters

        return native_parameters()


if __name__ == "__main__":
    sys.exit(main(TianshouWorker()))
