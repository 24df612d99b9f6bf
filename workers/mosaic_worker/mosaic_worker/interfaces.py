"""What a worker implements. Protocols: nothing is inherited from."""

from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Protocol

from mosaic_worker.session import Session
from mosaic_worker.spec import Spec


class WorkerConfig(Protocol):
    """A spec in the library's own terms."""

    def describe(self) -> Mapping[str, Any]:
        """What would run, as plain data: printed by ``--dry-run``."""
        ...


class WorkerRuntime(Protocol):
    """The library at work."""

    def run(self) -> None:
        """Train until the budget is used up; let ``Stopped`` pass."""
        ...

    def save_checkpoint(self, directory: Path) -> Optional[Path]:
        """Write what training needs to go on, atomically, into ``directory``; None where there is nothing to save."""
        ...

    def close(self) -> None:
        """Let go of environments, writers, child processes; called at every kind of end."""
        ...


class Worker(Protocol):
    """The three things that :func:`mosaic_worker.cli.main` needs of a worker, as a module or object."""

    package: str
    """Name of the package; its ``capabilities.json`` is the static description."""

    def config(self, spec: Spec) -> WorkerConfig:
        """Translate ``spec`` into the library's own terms, without importing the library.

        Raises:
            UserError: the library cannot do what the spec asks for.
        """
        ...

    def runtime(self, config: Any, session: Session) -> WorkerRuntime:
        """The library, imported and ready to run; it reports to ``session``."""
        ...

    def native_parameters(self) -> Dict[str, Dict[str, Any]]:
        """For each algorithm, the library's own parameters by name: ``{"type", "default", "help"}``."""
        ...
