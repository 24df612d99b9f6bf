"""A spec as a script and the environment variables that it gets."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.script import read_header
from mosaic_worker.spec import Spec


@dataclass(frozen=True)
class ScriptConfig:
    """Which script runs, and what it is told. No ``phases``: it may have any."""

    script: str
    description: str | None
    phases: tuple[str, ...]
    env_id: str
    seed: int
    total_timesteps: int

    @classmethod
    def from_spec(cls, spec: Spec) -> "ScriptConfig":
        """Translate ``spec``.

        Raises:
            UserError: there is no script, its header is wrong, or it would not hear of something that the spec sets.
        """
        if not spec.worker.script:
            raise UserError("worker.script: has no value")
        if spec.env.kwargs:
            raise UserError("env.kwargs: a script makes its environment itself, and takes none from here")
        if spec.algo.native:
            raise UserError(f"algo.native.{next(iter(spec.algo.native))}: a script has no such parameter")
        header = read_header(Path(spec.worker.script))
        return cls(
            script=spec.worker.script,
            description=header.description,
            phases=header.phases,
            env_id=spec.env.id,
            seed=spec.seed,
            total_timesteps=spec.total_timesteps,
        )

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data."""
        return asdict(self)

    def variables(self, run_dir: Path) -> dict[str, str]:
        """The environment variables that tell the script what it should know."""
        return {
            "MOSAIC_RUN_DIR": str(run_dir),
            "MOSAIC_ENV_ID": self.env_id,
            "MOSAIC_SEED": str(self.seed),
            "MOSAIC_TOTAL_TIMESTEPS": str(self.total_timesteps),
        }
