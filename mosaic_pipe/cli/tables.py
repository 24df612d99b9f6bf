"""Tables on stdout: fitted to a terminal, never folded in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table

_PIPE_WIDTH = 1000
_FOLDED_WIDTH = 8


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, fold: Sequence[str], right: Sequence[str] = ()
) -> None:
    """Print ``rows`` of rich markup under ``columns``, without columns that are empty.

    Args:
        columns: headings.
        rows: a cell for each column.
        fold: columns that give way where the terminal is narrow.
        right: columns of numbers.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    shown: list[tuple[str, ...]] = []
    for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
        if any(cells):
            justify: Literal["left", "right"] = "right" if column in right else "left"
            width = _FOLDED_WIDTH if column in fold else None
            table.add_column(column, justify=justify, overflow="fold", no_wrap=column not in fold, min_width=width)
            shown.append(cells)
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    console.print(table)
