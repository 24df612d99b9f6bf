"""``python -m xuance_worker.cli``: the kit's command line over this worker."""

import os
import sys
from typing import Any

from mosaic_worker.cli import main
from mosaic_worker.interfaces import WorkerRuntime
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, trains

from xuance_worker.config import XuanCeConfig


class XuanCeWorker:
    """What the kit needs of this worker."""

    package = "xuance_worker"

    def config(self, spec: Spec) -> XuanCeConfig:
        """The spec in XuanCe's terms."""
        return XuanCeConfig.from_spec(spec)

    def runtime(self, config: XuanCeConfig, session: Session) -> WorkerRuntime:
        """The algorithm, ready to run; torch and XuanCe are imported here."""
        os.environ.setdefault("TQDM_DISABLE", "1")  # a bar for each call of train would fill the log
        if not trains(config.spec):
            from xuance_worker.playing import Playing

            return Playing(config, session)
        from xuance_worker.training import Training

        return Training(config, session)

    def native_parameters(self) -> dict[str, dict[str, Any]]:
        """What XuanCe's own configuration files hold."""
        from xuance_worker.native import native_parameters

        return native_parameters()


if __name__ == "__main__":
    sys.exit(main(XuanCeWorker()))
