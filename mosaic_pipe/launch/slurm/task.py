"""What a task of an array does: one attempt of one run, stopped and queued again when Slurm wants the node.

Nothing here is told by Slurm how often it ran before: the run's directory says what is left to do. submitit starts it
and keeps its result; the signals are taken over from submitit, which counts a preemption soon after the start as a
time limit, and lets a cancelled job go on until it is killed.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from mosaic_worker.protocol import Failure

from mosaic_pipe.launch.attempt import Share, begin_attempt
from mosaic_pipe.launch.preparation import Preparation
from mosaic_pipe.launch.slurm.commands import SlurmUnreachable, job_facts, requeue
from mosaic_pipe.store.attempts import Owner, is_gone, this_owner
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.retry import worth_retrying
from mosaic_pipe.store.runs import Runs, next_attempt
from mosaic_pipe.store.states import State
from mosaic_pipe.store.sweeps import Sweep
from mosaic_pipe.supervise.outcome import StopReason
from mosaic_pipe.supervise.supervisor import POLL_SECONDS, Supervisor

_ENDED_BY_SLURM_SECONDS = 60.0


class RunNotCompleted(Exception):
    """Makes the job FAILED in Slurm's eyes too; the manifest has the rest."""


@dataclass(frozen=True)
class SlurmTask:
    """Called by submitit on a node; plain text, so that its pickle is nothing but a name and these words."""

    sweep_dir: str
    output_dir: str
    token: str
    submitted: float

    def __call__(self, run_id: str) -> str:
        """Bring the run ``run_id`` a step nearer its end; returns its state.

        Raises:
            RunNotCompleted: it ended otherwise, and not to be tried again.
        """
        signals = _Signals()
        point = next(one for one in Sweep(Path(self.sweep_dir)).points().values() if one.run_id == run_id)
        prepared = Preparation(_say).prepare(point.spec)
        run = Runs(Path(self.output_dir)).new(run_id)
        me = this_owner(_identity(self.token, run_id))
        number = next_attempt(run, lambda owner: is_gone(owner) or _was_me(owner, me), self.submitted)
        supervisor = begin_attempt(prepared, run, number, me, Share(), lambda progress: None) if number else None
        if supervisor is None or number is None:
            _say(f"nothing to do for run {run_id}: it has completed, or somebody else works on it")
            return "left alone"
        _supervise(supervisor, signals)
        manifest = supervisor.manifest
        _say(f"run {run_id}, attempt {number}: {manifest.state}")
        if not supervisor.superseded() and worth_retrying(manifest):
            _queue_again(manifest)
        if manifest.state is not State.COMPLETED:
            raise RunNotCompleted(f"run {run_id} is {manifest.state}: {_reason(manifest)}")
        return manifest.state.value


class _Signals:
    """SIGUSR2: Slurm's warning before a time limit or a preemption. SIGTERM: a preemption without one, or scancel.

    The worker may have been sent the same signal, so it is asked to stop at once, and why is found out afterwards.
    """

    def __init__(self) -> None:
        self.supervisor: Supervisor | None = None
        self.terminated = False
        for number in (signal.SIGUSR2, signal.SIGTERM):
            signal.signal(number, self._take)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.terminated = self.terminated or number == signal.SIGTERM
        if self.supervisor:
            self.supervisor.stop(StopReason.PREEMPT, "Slurm wants the node: preempted, or the job's time is up")


def _supervise(supervisor: Supervisor, signals: _Signals) -> None:
    signals.supervisor = supervisor
    over = supervisor.manifest.state.is_final
    known = False
    while not over:
        if signals.terminated and not known:
            known = True
            if _is_cancelled():
                supervisor.explain_stop(StopReason.CANCEL, "the Slurm job was cancelled")
        over = supervisor.look(POLL_SECONDS)


def _is_cancelled() -> bool:
    """Whether SIGTERM was sent by scancel, or somebody, and not to preempt this job."""
    try:
        facts = job_facts(_job())
    except SlurmUnreachable:
        return False  # better one attempt too many than a run that nobody goes on with
    if facts.get("JobState") == "RUNNING":  # a preemption with time to end has begun, or nothing has
        return facts.get("PreemptTime", "None") == "None"
    return int(facts.get("Restarts", "0")) <= int(os.environ.get("SLURM_RESTART_COUNT") or 0)  # it won't start again


def _queue_again(manifest: Manifest) -> None:
    """Ask for the job to be run again, and wait for Slurm to end this process."""
    if manifest.failure and manifest.failure.class_ != Failure.PREEMPTED:
        _say(f"{manifest.failure.class_}: queued again")
    if requeue(_job()):
        time.sleep(_ENDED_BY_SLURM_SECONDS)


def _identity(token: str, run_id: str) -> dict[str, str]:
    names = {"job": "SLURM_JOB_ID", "restart": "SLURM_RESTART_COUNT", "node": "SLURMD_NODENAME"}
    found = {key: os.environ.get(name, "") for key, name in names.items()}
    return {"cluster": os.environ.get("SLURM_CLUSTER_NAME", ""), "token": token, "run_id": run_id, **found}


def _was_me(owner: Owner, me: Owner) -> bool:
    """Whether ``owner`` is an earlier start of this very job, which Slurm has given up: it never means to run two."""
    same = ("cluster", "token", "run_id", "job")
    assert me.slurm is not None
    if owner.slurm is None or any(owner.slurm.get(key) != me.slurm[key] for key in same):
        return False
    return owner.pid_started < me.pid_started


def _job() -> str:
    return os.environ["SLURM_JOB_ID"]


def _reason(manifest: Manifest) -> str:
    return f"{manifest.failure.class_}: {manifest.failure.reason}" if manifest.failure else "stopped"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - into the job's log
