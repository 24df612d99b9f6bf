"""How far a run is: one live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress

from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.tables import duration
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.states import State
from mosaic_pipe.supervise.supervisor import Progress
from mosaic_pipe.telemetry.budget import budget
from mosaic_pipe.telemetry.fold import Summary

PLAIN_SECONDS = 5.0


class ProgressDisplay:
    """Shows the progress of one run on stderr; a context manager."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._console = Console(stderr=True, soft_wrap=True, highlight=False)
        self._live = _LiveLine(spec, self._console) if self._console.is_terminal else None
        self._due = 0.0
        self._state: State | None = None

    def __enter__(self) -> ProgressDisplay:
        if self._live:
            self._live.progress.start()
        _, total, unit = budget(Summary(), self._spec)
        self._console.print(f"run {self._spec.run_id}: {self._spec.title()}, {total} {unit}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.progress.stop()

    def show(self, progress: Progress) -> None:
        """Show ``progress``; called several times a second."""
        for notice in progress.notices:
            self._console.print(notice, markup=False)
        if self._live:
            self._live.show(progress)
        elif progress.state is not self._state or time.monotonic() >= self._due:
            self._state, self._due = progress.state, time.monotonic() + PLAIN_SECONDS
            show_notice(f"{progress.state}  {numbers(progress, self._spec)}")


class _LiveLine:
    def __init__(self, spec: RunSpec, console: Console) -> None:
        self._spec = spec
        self.progress = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            transient=True,
            refresh_per_second=4,
        )
        self._task = self.progress.add_task("starting", total=budget(Summary(), spec)[1], numbers="")

    def show(self, progress: Progress) -> None:
        self.progress.update(
            self._task,
            completed=budget(progress.summary, self._spec)[0],
            description=_phase(progress),
            numbers=numbers(progress, self._spec),
        )


def _phase(progress: Progress) -> str:
    summary = progress.summary
    if progress.state is State.RUNNING and not (summary.env_steps or summary.updates):
        return "importing the library"
    return progress.state.lower()


def numbers(progress: Progress, spec: RunSpec) -> str:
    """Steps, steps a second, mean return, time left; what is known of them."""
    summary = progress.summary
    done, total, unit = budget(summary, spec)
    parts = [f"{done}/{total} {unit}"]
    if summary.sps:
        parts.append(f"{summary.sps:.0f} steps/s")
    if summary.episode_return_mean is not None:
        parts.append(f"mean return {summary.episode_return_mean:.1f}")
    if summary.sps and unit == "steps" and not progress.state.is_final:
        parts.append(f"ETA {duration((total - done) / summary.sps)}")
    return "  ".join(parts)
