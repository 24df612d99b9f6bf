"""What a worker process is started with, and starting one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker import fastlane

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.linux import die_with_parent
from mosaic_pipe.base.processes import foreign_environment
from mosaic_pipe.spec.schema import Resources, RunSpec
from mosaic_pipe.workers.environment import Environment
from mosaic_pipe.workers.registry import Worker

_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True, kw_only=True)
class Start:
    """What a worker process is started with."""

    program: Sequence[str]
    """What starts this kind of worker, without the arguments of the run."""
    arguments: Sequence[str]
    variables: Mapping[str, str]
    """Its whole environment."""
    cores: frozenset[int] | None
    """The CPU cores that it may use; None: all of this process."""
    folder: Path
    """Where it works. ``python -m`` looks for modules here first: nothing of the user's folder is picked up."""
    events: Path
    """Its stdout is appended here."""
    log: Path
    """Its stderr is appended here."""


Spawn = Callable[[Start], int]
"""Starts a process in a session of its own, a child that dies with this process, and returns its id."""


def spawn(start: Start) -> int:
    """A new process.

    Raises:
        OSError: it could not be started.
    """
    die = die_with_parent()

    def prepare() -> None:
        die()
        if start.cores:
            os.sched_setaffinity(0, start.cores)

    with start.events.open("ab") as events, start.log.open("ab") as log:
        process = subprocess.Popen(
            [*start.program, *start.arguments],
            stdin=subprocess.DEVNULL,
            stdout=events,
            stderr=log,
            cwd=start.folder,
            env=start.variables,
            start_new_session=True,
            preexec_fn=prepare,
        )
    process.returncode = 0  # whoever asked for it waits for it; Popen must not
    return process.pid


def worker_program(worker: Worker, environment: Environment) -> list[str]:
    """What starts ``worker``, without arguments."""
    return [str(environment.python), "-m", worker.module]


def worker_arguments(spec_file: Path, resume: Path | None = None) -> list[str]:
    """What a worker is told to run; ``resume``: a checkpoint of the same run to go on from."""
    arguments = ["--config", str(spec_file.resolve())]
    return [*arguments, "--resume", str(resume.resolve())] if resume else arguments


def worker_variables(spec: RunSpec, environment: Environment, gpus: Sequence[str] | None = None) -> dict[str, str]:
    """The environment variables of a worker process: the user's, its share of the machine, and its interpreter's.

    Args:
        spec: what it runs.
        environment: its interpreter.
        gpus: those that it may see; None: the first of the machine's.

    Raises:
        SpecError: more GPUs are asked for than there are.
    """
    visible = choose_gpus(spec.resources) if gpus is None else gpus
    return {
        "PYTHONHASHSEED": "0",  # the same seed, the same order of sets
        **foreign_environment(),
        **dict.fromkeys(_THREADS, str(spec.resources.cpus)),
        "CUDA_VISIBLE_DEVICES": ",".join(visible),
        "PYTHONUNBUFFERED": "1",  # what was printed before a crash is in the log
        "PYTHONFAULTHANDLER": "1",
        **environment.variables,
        **({} if spec.fastlane.mode == "off" else _filming(environment.variables)),
    }


def _filming(variables: Mapping[str, str]) -> dict[str, str]:
    """What makes every Python of the run look for environments to film, before its own ``PYTHONPATH``."""
    path = [str(Path(fastlane.__file__).parent / "site"), *filter(None, [variables.get("PYTHONPATH")])]
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "SDL_NO_SIGNAL_HANDLERS": "1",  # SDL, which draws, would take SIGTERM for itself where nobody else has it
        "SDL_AUDIODRIVER": os.environ.get("SDL_AUDIODRIVER", "dummy"),  # and fills the log where there is no sound
    }


def choose_gpus(resources: Resources) -> list[str]:
    """The first of the machine's GPUs, as many as ``resources`` ask for.

    Raises:
        SpecError: there are fewer.
    """
    gpus = machine_gpus()
    if resources.gpus > len(gpus):
        raise SpecError(f"{resources.gpus} asked for, {len(gpus)} here", where="resources.gpus")
    return gpus[: resources.gpus]


def machine_gpus() -> list[str]:
    """The GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is not None:
        return [gpu for gpu in allowed.split(",") if gpu.strip()]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]
