"""Running a CleanRL script, unmodified, as the ``__main__`` that it is written to be."""

import os
import sys
import types
from pathlib import Path
from typing import Any

from mosaic_worker.session import Session

from cleanrl_worker import checkpoints, environments, tracking
from cleanrl_worker.config import CleanRLConfig


class CleanRLRuntime:
    """One script in this process, watched through Gymnasium's ``make`` and its SummaryWriter."""

    def __init__(self, config: CleanRLConfig, session: Session) -> None:
        self._config, self._session = config, session
        self._names: dict[str, Any] = {}
        environments.install(session, config.env_family, config.env_kwargs)
        tracking.install(session, config.tensorboard)

    def run(self) -> None:
        """Execute the script until its budget is used up."""
        script = Path(self._config.script)
        main = types.ModuleType("__main__")
        main.__file__ = str(script)
        sys.modules["__main__"] = main  # classes of the script must be picklable by name
        sys.argv = [str(script), *self._config.arguments]
        os.chdir(self._session.run_dir)  # the scripts write videos and models below the current directory
        self._names = vars(main)
        exec(compile(script.read_bytes(), str(script), "exec"), self._names)  # noqa: S102 - the library itself

    def save_checkpoint(self, directory: Path) -> Path | None:
        """Save networks and optimisers; None where the script was stopped before it had any."""
        facts = {"algo": Path(self._config.script).stem, "env_id": self._config.env_id}
        return checkpoints.save(directory, self._names, {**facts, "env_steps": self._session.env_steps})

    def close(self) -> None:
        """Close what the script opened, where it was stopped before it did so itself."""
        for name in ("envs", "writer"):
            if name in self._names and not getattr(self._names[name], "closed", False):
                self._names[name].close()
