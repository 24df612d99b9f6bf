"""Points as arrays of jobs: one for the sweep, more where points need different resources or a limit says so."""

from __future__ import annotations

import math
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from submitit import SlurmExecutor
from submitit.core.utils import FailedJobError, FailedSubmissionError
from ulid import ULID

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.launch.preparation import Prepared
from mosaic_pipe.launch.slurm import task
from mosaic_pipe.launch.slurm.commands import max_array_size
from mosaic_pipe.spec.schema import Resources
from mosaic_pipe.store.sweeps import Jobs, Sweep

_TOO_MANY = re.compile(
    r"MaxSubmit|SubmitJobs?Limit|job submit limit|MaxJobCount|Slurm temporarily unable", re.IGNORECASE
)
_PERHAPS_TAKEN = re.compile(r"timed out|zero bytes", re.IGNORECASE)
"""What sbatch says when the controller's answer got lost."""
_STARTUP_SECONDS = 30


class SlurmSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``conf/hydra/launcher/slurm.yaml``, which explains each."""

    partition: str | None
    qos: str | None
    account: str | None
    time_min: int
    gres: str | None
    constraint: str | None
    array_parallelism: int
    setup: list[str]
    extra: dict[str, Any]


@dataclass(frozen=True)
class Submitted:
    """What became of points: how many are in the queue, and those for which it has no room now."""

    points: int
    arrays: int
    left: Sequence[Prepared]
    why: str = ""


def submit(points: Sequence[Prepared], sweep: Sweep, output_dir: Path, settings: SlurmSettings) -> Submitted:
    """Submit ``points``, whose environments exist, as few arrays as the cluster takes.

    Raises:
        UserError: the cluster refuses one for another reason than its size. Those before it are in the queue.
    """
    size = max_array_size()
    waiting = [points_ for group in _by_needs(points) for points_ in _chunks(group, size)]
    done = arrays = 0
    while waiting:
        chunk = waiting.pop(0)
        try:
            _submit_array(chunk, sweep, output_dir, settings)
        except _TooMany as error:
            if len(chunk) == 1:
                return Submitted(done, arrays, [*chunk, *(point for rest in waiting for point in rest)], str(error))
            middle = math.ceil(len(chunk) / 2)
            waiting[:0] = [chunk[:middle], chunk[middle:]]
            continue
        done, arrays = done + len(chunk), arrays + 1
    return Submitted(done, arrays, [])


class _TooMany(Exception):
    pass


def _by_needs(points: Sequence[Prepared]) -> list[list[Prepared]]:
    groups: dict[tuple[Resources, int], list[Prepared]] = {}
    for point in points:
        groups.setdefault((point.spec.resources, point.memory_mb), []).append(point)
    return list(groups.values())


def _chunks(points: list[Prepared], size: int) -> list[list[Prepared]]:
    return [points[start : start + size] for start in range(0, len(points), size)]


def _submit_array(points: list[Prepared], sweep: Sweep, output_dir: Path, settings: SlurmSettings) -> None:
    name = str(ULID())
    token = f"mosaic-pipe {name}"
    run_ids = [point.spec.run_id for point in points]
    # Our own program, which takes no notice of what submitit adds to its command line
    program = [sys.executable, "-u", "-m", task.__name__, str(sweep.path.absolute()), str(output_dir.absolute()), token]
    # Not a folder called after the job: that would be made after sbatch, and a job without it cannot start
    executor = SlurmExecutor(folder=sweep.logs_dir.absolute() / name, python=shlex.join(program))
    try:
        executor.update_parameters(**_parameters(points[0], sweep, token, settings))
    except ValueError as error:
        raise SpecError(str(error), where="hydra.launcher") from error
    # On record before it is in the queue: the queue then tells, by the token, whether it got there.
    record = sweep.add_jobs(Jobs(token=token, submitted=time.time(), run_ids=run_ids))
    try:
        executor.map_array(str, run_ids)
    except (FailedJobError, FailedSubmissionError) as error:
        if not _PERHAPS_TAKEN.search(str(error)):
            record.unlink(missing_ok=True)
        if _TOO_MANY.search(str(error)):
            raise _TooMany(_words(error)) from error
        raise UserError(f"sbatch failed: {_words(error)}", where="hydra/launcher=slurm") from error


def _parameters(point: Prepared, sweep: Sweep, token: str, settings: SlurmSettings) -> dict[str, Any]:
    resources = point.spec.resources
    minutes = settings.time_min
    if resources.time_limit is not None:
        minutes = min(minutes, math.ceil((resources.time_limit + resources.stop_grace + _STARTUP_SECONDS) / 60) + 1)
    if "comment" in settings.extra:
        raise SpecError("tells which jobs are the sweep's, and is ours", where="hydra.launcher.extra.comment")
    wanted = {
        "job_name": sweep.name,
        "comment": token,
        "partition": settings.partition,
        "qos": settings.qos,
        "account": settings.account,
        "time": minutes,
        "mem": f"{point.memory_mb}M",
        "nodes": resources.nodes,
        "ntasks_per_node": 1,
        # The task is the run's supervisor, on the first node; what is to run on the others is the worker's matter.
        # Since Slurm 22.05 srun gives a task one core where it is not told again.
        "srun_args": ["--nodes=1", "--ntasks=1", f"--cpus-per-task={resources.cpus}"],
        "cpus_per_task": resources.cpus,
        "gres": settings.gres or (f"gpu:{resources.gpus}" if resources.gpus else None),
        "constraint": settings.constraint,
        "array_parallelism": settings.array_parallelism,
        # Time to save a checkpoint in; not more than half of the job's
        "signal_delay_s": int(min(resources.stop_grace + _STARTUP_SECONDS, minutes * 30)),
        "setup": settings.setup or None,
        "stderr_to_stdout": True,
        "additional_parameters": {"requeue": True, **settings.extra},
    }
    return {key: value for key, value in wanted.items() if value is not None}


def _words(error: Exception) -> str:
    """What sbatch said, without submitit's remarks."""
    lines = [line.strip() for line in str(error).splitlines() if "sbatch:" in line or "error:" in line]
    said = dict.fromkeys(line.removeprefix("sbatch: ").removeprefix("error: ") for line in lines)
    return "; ".join(said) or str(error)
