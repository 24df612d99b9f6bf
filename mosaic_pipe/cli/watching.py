"""Looking at a sweep until nothing of it runs or waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live

from mosaic_pipe.cli.live_sweep import LiveSweep
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.sweeps import Sweep
from mosaic_pipe.sweep.status import PointStatus, counted

_LOOK_SECONDS = 1.0
_TELL_SECONDS = 30.0

Tell = Callable[[Sequence[PointStatus]], None]


def watch(sweep: Sweep, output_dir: Path) -> list[PointStatus]:
    """Show ``sweep`` until nothing of it runs or waits; returns its points then."""
    live = LiveSweep(sweep, Runs(output_dir))
    console = Console(stderr=True, highlight=False)
    show = _shown_live if console.is_terminal else _told_now_and_then
    with show(live, console) as tell:
        statuses = live.look()
        while any(status.is_active for status in statuses):
            tell(statuses)
            time.sleep(_LOOK_SECONDS)
            statuses = live.look()
    return statuses


@contextmanager
def _shown_live(live: LiveSweep, console: Console) -> Iterator[Tell]:
    with Live(console=console, transient=True, auto_refresh=False) as display:
        yield lambda statuses: display.update(live.table(statuses), refresh=True)


@contextmanager
def _told_now_and_then(live: LiveSweep, console: Console) -> Iterator[Tell]:
    told, due = "", 0.0

    def tell(statuses: Sequence[PointStatus]) -> None:
        nonlocal told, due
        text = counted(statuses)
        if text != told or time.monotonic() > due:
            show_notice(f"sweep {live.sweep.name}: {text}")
            told, due = text, time.monotonic() + _TELL_SECONDS

    yield tell
