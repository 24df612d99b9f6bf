"""``python -m script_worker.cli``: the kit's command line over this worker."""

import sys
from typing import Any

from mosaic_worker.cli import main
from mosaic_worker.interfaces import WorkerRuntime
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec

from script_worker.config import ScriptConfig
from script_worker.runtime import ScriptRuntime


class ScriptWorker:
    """What the kit needs of this worker."""

    package = "script_worker"

    def config(self, spec: Spec) -> ScriptConfig:
        """The script and what it is told."""
        return ScriptConfig.from_spec(spec)

    def runtime(self, config: ScriptConfig, session: Session) -> WorkerRuntime:
        """The script, ready to run."""
        return ScriptRuntime(config, session)

    def native_parameters(self) -> dict[str, dict[str, Any]]:
        """None: a script has its own ways."""
        return {"script": {}}


if __name__ == "__main__":
    sys.exit(main(ScriptWorker()))
