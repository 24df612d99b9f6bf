"""Tables on stdout. Lines are as long as their content, as those of ``docker ps``: nothing is cut or folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table

_NO_LIMIT = 1000


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print ``rows`` of rich markup under ``columns``, without columns that are empty; ``right`` holds numbers."""
    shown: list[tuple[str, ...]] = []
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
        if any(cells):
            justify: Literal["left", "right"] = "right" if column in right else "left"
            table.add_column(column, justify=justify, no_wrap=True)
            shown.append(cells)
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    Console(highlight=False, width=_NO_LIMIT).print(table)
