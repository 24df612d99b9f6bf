"""What a task of an array does: one attempt of one run, stopped and queued again when Slurm wants the node.

Nothing here is told by Slurm how often it ran before: the run's directory says what is left to do. It is a
program of its own, and not a function for submitit to call: submitit takes a preemption soon after the start for a time
limit, lets a cancelled job go on until it is killed, and has its jobs wait for a file that is put in place after
``sbatch``, in vain where the submitting process was killed in between.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from mosaic_worker.protocol import Failure

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.launch.attempt import Share, begin_attempt
from mosaic_pipe.launch.preparation import Preparation
from mosaic_pipe.launch.slurm.commands import SlurmUnreachable, job_facts, requeue
from mosaic_pipe.store.attempts import Owner, is_gone, this_owner
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.retry import worth_retrying
from mosaic_pipe.store.runs import Runs, next_attempt
from mosaic_pipe.store.states import State
from mosaic_pipe.store.sweeps import Jobs, Sweep
from mosaic_pipe.supervise.outcome import StopReason
from mosaic_pipe.supervise.supervisor import POLL_SECONDS, Supervisor

_ENDED_BY_SLURM_SECONDS = 60.0


def main() -> int:
    """``python -m mosaic_pipe.launch.slurm.task SWEEP_DIR OUTPUT_DIR TOKEN``: as a task of the array ``TOKEN``.

    Returns:
        0: nothing is left to do; else the job is FAILED in Slurm's eyes too, and the manifest has the rest.
    """
    signals = _Signals()
    sweep, output_dir, token = Sweep(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]
    try:
        jobs = next((jobs for jobs in sweep.jobs() if jobs.token == token), None)
        if jobs is None:
            raise UserError("this array is not on record: its submission was taken for refused", where=str(sweep.path))
        index = int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))  # an array of one is no array to submitit
        return _bring_on(sweep, output_dir, jobs, jobs.run_ids[index], signals)
    except UserError as error:
        _say(f"error: {error}")
        return error.exit_code


def _bring_on(sweep: Sweep, output_dir: Path, jobs: Jobs, run_id: str, signals: _Signals) -> int:
    """Bring the run ``run_id`` a step nearer its end."""
    point = next((one for one in sweep.points().values() if one.run_id == run_id), None)
    if point is None:
        _say(f"nothing to do for run {run_id}: the sweep was planned anew without it")
        return Exit.OK
    prepared = Preparation(_say).prepare(point.spec)
    run = Runs(output_dir).new(run_id)
    me = this_owner(_identity(jobs.token, run_id))
    number = next_attempt(run, lambda owner: is_gone(owner) or _was_me(owner, me), jobs.submitted)
    supervisor = begin_attempt(prepared, run, number, me, Share(), lambda progress: None) if number else None
    if supervisor is None or number is None:
        _say(f"nothing to do for run {run_id}: it has ended, or somebody else works on it")
        return Exit.OK
    with signals.stopping(supervisor):
        over = supervisor.manifest.state.is_final
        while not over:
            over = supervisor.look(POLL_SECONDS)
    manifest = supervisor.manifest
    _say(f"run {run_id}, attempt {number}: {manifest.state}{_reason(manifest)}")
    if not supervisor.superseded() and worth_retrying(manifest):
        _queue_again(manifest)
    return Exit.OK if manifest.state is State.COMPLETED else Exit.RUN_FAILED


class _Signals:
    """SIGUSR2: Slurm's warning before a time limit or a preemption. SIGTERM: a preemption without one, or scancel.

    The worker may have been sent the same signal, so it is asked to stop at once, and why is found out before its end
    is looked at.
    """

    def __init__(self) -> None:
        self._supervisor: Supervisor | None = None
        self._received = self._terminated = False
        for number in (signal.SIGUSR2, signal.SIGTERM):
            signal.signal(number, self._take)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)

    @contextmanager
    def stopping(self, supervisor: Supervisor) -> Iterator[None]:
        """While this lasts, signals stop ``supervisor``; also one that came before."""
        self._supervisor = supervisor
        if self._received:
            self._stop(supervisor)
        yield
        self._supervisor = None

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._received = True
        self._terminated = self._terminated or number == signal.SIGTERM
        if self._supervisor:
            self._stop(self._supervisor)

    def _stop(self, supervisor: Supervisor) -> None:
        supervisor.stop(StopReason.PREEMPT, "Slurm wants the node: preempted, or the job's time is up")
        if self._terminated and _is_cancelled():  # asked here: the worker may end before the next look
            supervisor.explain_stop(StopReason.CANCEL, "the Slurm job was cancelled")


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
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
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
    return _start(owner) < _start(me)


def _start(owner: Owner) -> tuple[int, float]:
    """Orders the starts of one job, whatever the clocks of its nodes say."""
    assert owner.slurm is not None
    return int(owner.slurm["restart"] or 0), owner.pid_started


def _job() -> str:
    return os.environ["SLURM_JOB_ID"]


def _reason(manifest: Manifest) -> str:
    return f": {manifest.failure.class_}: {manifest.failure.reason}" if manifest.failure else ""


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - into the job's log


if __name__ == "__main__":
    sys.exit(main())
