"""A sweep while it goes on: its points as they are now, wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from mosaic_pipe.base.processes import this_host
from mosaic_pipe.store.attempts import is_gone
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.sweeps import Sweep
from mosaic_pipe.sweep.status import DONE, PointStatus, counted, look_at
from mosaic_pipe.telemetry.budget import budget

if TYPE_CHECKING:
    from mosaic_pipe.launch.slurm.queue import Queue

_ROWS = 20


class LiveSweep:
    """Asks runs' manifests each time, unless they have completed, and Slurm's queue now and then, where it has jobs."""

    def __init__(self, sweep: Sweep, runs: Runs) -> None:
        self.sweep, self._runs = sweep, runs
        self._queue: Queue | None = None
        self._completed: dict[str, PointStatus] = {}

    def look(self) -> list[PointStatus]:
        """The status of every point.

        Raises:
            SlurmUnreachable: it has jobs in Slurm's queue, and Slurm does not answer.
        """
        points = self.sweep.points()
        if self._queue is None and self.sweep.jobs():
            from mosaic_pipe.launch.slurm.queue import Queue

            self._queue = Queue(self.sweep)
        queued = self._with_launchers()
        for run_id, since in self._queue.queued().items() if self._queue else ():
            queued[run_id] = max(since, queued.get(run_id, 0.0))
        gone = self._queue.is_gone if self._queue else is_gone
        open_ = [point for digest, point in points.items() if digest not in self._completed]
        looked = {status.point.spec_hash: status for status in look_at(open_, self._runs, gone, queued)}
        self._completed |= {digest: status for digest, status in looked.items() if status.state == DONE}
        return [looked.get(digest) or self._completed[digest] for digest in points]

    def run_of(self, status: PointStatus) -> RunDir:
        """The run of a point."""
        return self._runs.new(status.point.run_id)

    def _with_launchers(self) -> dict[str, float]:
        """Ids of the runs that a launcher on this machine has before it, and since when it works."""
        here = [one for one in self.sweep.launchers().values() if one.owner.host == this_host()]
        points = self.sweep.points() if here else {}
        return {
            points[digest].run_id: one.started
            for one in here
            for digest in self.sweep.submission(one.submission).todo
            if digest in points
        }

    def stop(self) -> None:
        """Ask everything that runs to stop with a checkpoint, and take what waits off Slurm's queue."""
        running = {one.point.run_id: one.manifest for one in self.look() if one.is_active and one.manifest}
        for stop_file in self.sweep.launchers():
            stop_file.touch()
        for run_id, manifest in running.items():
            if not manifest.state.is_final:
                self._runs.new(run_id).stop_file(manifest.attempts[-1].number).touch()
        if self._queue:
            self._queue.cancel([run_id for run_id, manifest in running.items() if not manifest.state.is_final])

    def table(self, statuses: Sequence[PointStatus]) -> Group:
        """What to show of it on a terminal."""
        active = [status for status in statuses if status.is_active and status.manifest]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for status in active[:_ROWS]:
            assert status.manifest is not None
            summary, spec = status.manifest.summary, status.manifest.spec
            mean = "" if summary.mean_return is None else f"return {summary.mean_return:.1f}"
            steps = "{}/{} {}".format(*budget(summary, spec))
            table.add_row(Text(spec.title()), Text(status.state.lower(), style="cyan"), steps, mean)
        if len(active) > _ROWS:
            table.add_row(f"… and {len(active) - _ROWS} more")
        return Group(Text(f"sweep {self.sweep.name}  {counted(statuses)}", style="bold"), table)
