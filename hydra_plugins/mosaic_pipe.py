"""The names under which Hydra finds our launchers and sweepers: Hydra 1.3 takes plugins from this package alone.

Hydra executes this file at every start, so what it stands for is imported when it is used.
"""

from typing import Any

from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper


class _SweepLauncher(Launcher):
    def __init__(self, **settings: Any) -> None:
        from mosaic_pipe.cli.multirun import SweepLauncher

        self.ours = SweepLauncher(self.kind, settings)

    kind: str

    def setup(self, **given: Any) -> None:
        """As Hydra wants it."""
        self.ours.setup(**given)

    def launch(self, job_overrides: Any, initial_job_idx: int) -> Any:
        """As Hydra wants it."""
        return self.ours.launch(job_overrides)


class LocalSweep(_SweepLauncher):
    """``hydra/launcher=local``."""

    kind = "local"


class SlurmSweep(_SweepLauncher):
    """``hydra/launcher=slurm``."""

    kind = "slurm"


class GridSweeper(Sweeper):
    """``hydra/sweeper=grid``."""

    def __init__(self, **settings: Any) -> None:
        from mosaic_pipe.cli.grid import GridSweeper

        self._sweeper = GridSweeper(**settings)

    def setup(self, **given: Any) -> None:
        """As Hydra wants it."""
        self._sweeper.setup(**given)

    def sweep(self, arguments: list[str]) -> Any:
        """As Hydra wants it."""
        return self._sweeper.sweep(arguments)


class OptunaSweeper(Sweeper):
    """``hydra/sweeper=optuna``."""

    def __init__(self, **settings: Any) -> None:
        from mosaic_pipe.cli.optuna_sweeper import OptunaSweeper

        self._sweeper = OptunaSweeper(settings)

    def setup(self, **given: Any) -> None:
        """As Hydra wants it."""
        self._sweeper.setup(**given)

    def sweep(self, arguments: list[str]) -> Any:
        """As Hydra wants it."""
        return self._sweeper.sweep(arguments)
