"""Tables and JSON on stdout. A table's lines are as long as their content, as those of ``docker ps``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
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


def print_json(value: Any) -> None:
    """Print ``value`` as JSON."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def reached(env_steps: int, updates: int | None) -> str:
    """How far a run is: steps, or updates where it learns from a dataset alone."""
    return f"{env_steps} steps" if updates is None else f"{updates} updates"


def steps_cell(row: dict[str, Any]) -> str:
    """What stands under "steps" for a row with ``env_steps`` and ``updates``."""
    return str(row["env_steps"]) if row["updates"] is None else reached(0, row["updates"])


def duration(seconds: float) -> str:
    """``1:05:09``, or ``5:09``."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
