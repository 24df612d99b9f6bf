"""What Slurm's queue says of a sweep's points, asked seldom, however many jobs there are.

Which task of an array is which point is on record with the sweep, under a token that stands in the jobs' comment:
Slurm uses job ids again, and a submission may die between ``sbatch`` and the next line.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from mosaic_pipe.launch.slurm.commands import SlurmUnreachable, Task, cancel, queued_tasks
from mosaic_pipe.store.attempts import Owner, is_gone
from mosaic_pipe.store.sweeps import Jobs, Sweep

ASK_SECONDS = 30.0
"""Slurm is asked at most so often."""
_SKEW_SECONDS = 30.0
"""Clocks of nodes may differ."""
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")


@dataclass(frozen=True)
class _Queued:
    """A task of the sweep's, and its run. Of two submissions at the same moment, both have one for it."""

    run_id: str
    jobs: Jobs
    task: Task


class Queue:
    """The part of Slurm's queue that belongs to one sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._answer: list[Task] = []
        self._cancelled: set[str] = set()
        self._asked = float("-inf")
        self._asked_at = 0.0
        self._tasks: list[_Queued] = []
        self._states: dict[tuple[str, str], str] = {}

    def queued(self) -> dict[str, float]:
        """Ids of the runs that a task is there for, and since when: an attempt begun later is that task's doing.

        Raises:
            SlurmUnreachable: Slurm has never answered.
        """
        if time.monotonic() - self._asked > ASK_SECONDS:
            self._ask()
        records = self._sweep.jobs()
        self._tasks = list(self._ours(records))
        self._states = {(one.jobs.token, one.run_id): one.task.state for one in self._tasks}
        unknown = [(run_id, jobs) for jobs in records if jobs.submitted > self._asked_at for run_id in jobs.run_ids]
        found: dict[str, float] = {}
        for run_id, jobs in [*unknown, *((one.run_id, one.jobs) for one in self._tasks)]:
            found[run_id] = max(jobs.submitted, found.get(run_id, 0.0))
        return found

    def _ask(self) -> None:
        """Ask Slurm; while it does not answer, what it said last holds."""
        asked_at = time.time()
        try:
            self._answer = queued_tasks()
        except SlurmUnreachable:
            if not self._asked_at:
                raise
        else:
            self._asked_at = asked_at
        self._asked = time.monotonic()

    def is_gone(self, owner: Owner) -> bool:
        """Whether the owner of an attempt is known to be dead: its task has left the queue, or waits in it again.

        As :meth:`queued` found the queue.
        """
        if is_gone(owner):
            return True
        if owner.slurm is None:
            return False
        state = self._states.get((owner.slurm["token"], owner.slurm["run_id"]))
        is_known = owner.pid_started < self._asked_at - _SKEW_SECONDS
        return is_known and (state is None or state in _WAITING)

    def cancel(self, stopping: Collection[str]) -> None:
        """End the sweep's jobs but those of the runs ``stopping``, which end by themselves.

        Raises:
            SlurmUnreachable: Slurm does not answer.
        """
        ending = [one for one in self._tasks if one.task.state in _WAITING or one.run_id not in stopping]
        jobs = [one.task.job for one in ending]
        cancel(jobs)
        self._cancelled.update(jobs)

    def _ours(self, records: Iterable[Jobs]) -> Iterator[_Queued]:
        arrays = {jobs.token: jobs for jobs in records}
        for task in self._answer:
            jobs = arrays.get(task.comment)
            if jobs and task.job not in self._cancelled:
                index = int(task.job.partition("_")[2] or 0)  # an array of one is no array to submitit
                yield _Queued(jobs.run_ids[index], jobs, task)
