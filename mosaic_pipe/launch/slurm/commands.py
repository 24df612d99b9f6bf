"""Slurm's own commands, asked in ways that every version since 20.11 understands, with or without accounting."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from mosaic_pipe.base.errors import UserError

_SECONDS = 60
_SECONDS_TO_EXPLAIN = 5
"""While the answer is waited for, nobody looks after the run."""


class SlurmUnreachable(UserError):
    """A command of Slurm's that could not be run, or found its controller away."""


@dataclass(frozen=True)
class Task:
    """A task of an array that Slurm still knows: waiting, running or being cleaned up."""

    job: str
    """``array id_index``."""
    state: str
    comment: str


def queued_tasks() -> list[Task]:
    """This user's tasks.

    Raises:
        SlurmUnreachable: Slurm does not answer.
    """
    lines = _ask("squeue", "--noheader", "--array", f"--user={os.getuid()}", "--format=%i|%T|%k").splitlines()
    return [Task(*parts) for line in lines if len(parts := line.split("|", 2)) == 3]


def max_array_size() -> int:
    """How many tasks an array may have: Slurm's MaxArraySize, the first index that it does not take."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", _ask("scontrol", "show", "config"), re.MULTILINE)
    return max(1, int(found[1])) if found else 1001


def job_facts(job: str) -> dict[str, str]:
    """What ``scontrol show job`` says: ``JobState``, ``PreemptTime``, …"""
    words = _ask("scontrol", "--oneliner", "show", "job", job, seconds=_SECONDS_TO_EXPLAIN).split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def requeue(job: str) -> bool:
    """Put a running job back into the queue; False where Slurm refuses, as when it has done so itself."""
    try:
        _ask("scontrol", "requeue", job)
        return True
    except SlurmUnreachable:
        return False


def cancel(jobs: list[str]) -> None:
    """Take jobs off the queue, and end those that run.

    Raises:
        SlurmUnreachable: Slurm does not answer.
    """
    if jobs:
        _ask("scancel", "--quiet", *jobs)


def _ask(*command: str, seconds: float = _SECONDS) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except FileNotFoundError as error:
        hint = "is this a machine that submits to a cluster?"
        raise SlurmUnreachable("there is no Slurm here", where=command[0], hint=hint) from error
    except subprocess.TimeoutExpired as error:
        raise SlurmUnreachable(f"no answer in {seconds:g} s", where=command[0]) from error
    if done.returncode:
        raise SlurmUnreachable(done.stderr.strip() or f"exit code {done.returncode}", where=command[0])
    return done.stdout
