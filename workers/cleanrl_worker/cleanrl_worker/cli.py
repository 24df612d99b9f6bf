"""``python -m cleanrl_worker.cli``: the kit's command line over this worker."""

import sys
from typing import Any

from mosaic_worker.cli import main
from mosaic_worker.interfaces import WorkerRuntime
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, trains

from cleanrl_worker.config import CleanRLConfig, native_parameters


class CleanRLWorker:
    """What the kit needs of this worker."""

    package = "cleanrl_worker"

    def config(self, spec: Spec) -> CleanRLConfig:
        """The script and its command line."""
        return CleanRLConfig.from_spec(spec)

    def runtime(self, config: CleanRLConfig, session: Session) -> WorkerRuntime:
        """The script, ready to run; torch and Gymnasium are imported here."""
        if not trains(config.spec):
            from cleanrl_worker.playing import Playing

            return Playing(config, session)
        from cleanrl_worker.training import Training

        return Training(config, session)

    def native_parameters(self) -> dict[str, dict[str, Any]]:
        """Each script's own command line."""
        return native_parameters()


if __name__ == "__main__":
    sys.exit(main(CleanRLWorker()))
