"""What Slurm's queue says of a sweep's points, asked seldom, however many jobs there are.

Which task of an array is which point is on record with the sweep, under a token that stands in the jobs' comment:
Slurm uses job ids again, and a submission may die between ``sbatch`` and the next line.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection

from mosaic_pipe.launch.slurm.commands import Task, cancel, queued_tasks
from mosaic_pipe.store.attempts import Owner, is_gone
from mosaic_pipe.store.sweeps import Sweep

ASK_SECONDS = 30.0
"""Slurm is asked at most so often."""
_SKEW_SECONDS = 30.0
"""Clocks of nodes may differ."""
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")


class Queue:
    """The part of Slurm's queue that belongs to one sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._tasks: list[Task] = []
        self._cancelled: set[str] = set()
        self._asked = float("-inf")
        self._asked_at = 0.0

    def queued(self) -> dict[str, float]:
        """Ids of the runs that a task is there for, and since when: for ever, while it has not started.

        Raises:
            SlurmUnreachable: Slurm does not answer.
        """
        tasks = self._by_run()
        since = [jobs for jobs in self._sweep.jobs() if jobs.submitted > self._asked_at]
        submitted = {run_id: math.inf for jobs in since for run_id in jobs.run_ids}
        return submitted | {run_id: math.inf if task.state in _WAITING else 0.0 for run_id, task in tasks.items()}

    def is_gone(self, owner: Owner) -> bool:
        """Whether the owner of an attempt is known to be dead: its task has left the queue, or waits in it again.

        Raises:
            SlurmUnreachable: Slurm does not answer.
        """
        if is_gone(owner):
            return True
        if owner.slurm is None:
            return False
        task = self._by_run().get(owner.slurm["run_id"])
        is_known = owner.pid_started < self._asked_at - _SKEW_SECONDS
        return is_known and (task is None or task.state in _WAITING)

    def cancel(self, stopping: Collection[str]) -> None:
        """End the sweep's jobs but those of the runs ``stopping``, which end by themselves.

        Raises:
            SlurmUnreachable: Slurm does not answer.
        """
        jobs = [task.job for run_id, task in self._by_run().items() if task.state in _WAITING or run_id not in stopping]
        cancel(jobs)
        self._cancelled.update(jobs)

    def _by_run(self) -> dict[str, Task]:
        if time.monotonic() - self._asked > ASK_SECONDS:
            self._asked_at = time.time()
            self._tasks = queued_tasks()
            self._asked = time.monotonic()
        arrays = {jobs.token: jobs.run_ids for jobs in self._sweep.jobs()}
        found: dict[str, Task] = {}
        for task in self._tasks:
            run_ids = arrays.get(task.comment)
            _, _, index = task.job.partition("_")
            if run_ids and task.job not in self._cancelled:
                found[run_ids[int(index or 0)]] = task  # an array of one is no array to submitit
        return found
