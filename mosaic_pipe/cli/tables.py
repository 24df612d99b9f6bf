"""Tables on stdout: fitted to a terminal, never folded in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

_PIPE_WIDTH = 1000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print ``rows`` of rich markup under ``columns``; the first is a name and never cut, ``right`` are numbers."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    listed = list(rows)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    table.columns[0].min_width = max((len(row[0]) for row in listed), default=0)
    for row in listed:
        table.add_row(*row)
    console.print(table)
