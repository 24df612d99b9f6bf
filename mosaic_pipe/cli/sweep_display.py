"""How far a sweep is: a live table on a terminal, a line for each end elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mosaic_pipe.cli.progress import numbers
from mosaic_pipe.cli.tables import duration
from mosaic_pipe.launch.local import Board
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.states import State

_ROWS = 20
_LIVE_SECONDS = 0.5


class SweepDisplay:
    """Shows a launcher's board on stderr; a context manager."""

    def __init__(self, name: str, points: int, *, quiet: bool = False) -> None:
        """``quiet``: no line for each run that ends well."""
        self._name, self._points, self._quiet = name, points, quiet
        self._console = Console(stderr=True, soft_wrap=True, highlight=False)
        self._live = (
            Live(console=self._console, transient=True, auto_refresh=False) if self._console.is_terminal else None
        )
        self._started, self._due, self._told = time.monotonic(), 0.0, 0

    def __enter__(self) -> SweepDisplay:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def show(self, board: Board) -> None:
        """Show ``board``; called several times a second."""
        for notice in board.notices:
            self._console.print(notice, markup=False)
        board.notices.clear()
        for manifest in board.ended[self._told :]:
            self._told += 1
            self._tell(manifest)
        if self._live and time.monotonic() >= self._due:
            self._due = time.monotonic() + _LIVE_SECONDS
            self._live.update(self._board(board), refresh=True)

    def _tell(self, manifest: Manifest) -> None:
        failure = manifest.failure
        if (self._live or self._quiet) and not failure:
            return
        reason = f"  {failure.class_}: {failure.reason}" if failure else ""
        mean = manifest.summary.mean_return
        result = f"  mean return {mean:.1f}" if mean is not None else ""
        head = f"{self._told}/{self._points}  {manifest.state}  {manifest.spec.title()}"
        self._console.print(f"{head}{result}{reason}", markup=False)

    def _board(self, board: Board) -> Group:
        counts = Counter(manifest.state.value for manifest in board.ended)
        waiting = board.total - len(board.ended) - board.elsewhere - len(board.running)
        told = [f"{count} {state.lower()}" for state, count in counts.items()]
        told += [f"{len(board.running)} running", f"{waiting} waiting"]
        if board.elsewhere:
            told.append(f"{board.elsewhere} elsewhere")
        head = Text(
            f"sweep {self._name}  {', '.join(told)}  {duration(time.monotonic() - self._started)}", style="bold"
        )
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for prepared, progress in list(board.running.values())[:_ROWS]:
            color = "cyan" if progress.state is State.RUNNING else "yellow"
            table.add_row(
                Text(prepared.spec.title()), Text(progress.state.lower(), style=color), numbers(progress, prepared.spec)
            )
        if len(board.running) > _ROWS:
            table.add_row(f"… and {len(board.running) - _ROWS} more")
        return Group(head, table)
