"""Tables about studies: trials by their parameters, the best first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from mosaic_pipe.cli.own import runs_command
from mosaic_pipe.cli.search_space import told
from mosaic_pipe.cli.tables import print_table
from mosaic_pipe.store.studies import Definition, StudyDir
from mosaic_pipe.store.sweeps import Sweep
from mosaic_pipe.sweep.metric import metric_of
from mosaic_pipe.sweep.status import DONE, PointStatus

PRUNED = "PRUNED"
_ROWS = 20


def print_results(definition: Definition, statuses: Sequence[PointStatus], output_dir: Path) -> None:
    """The trials that have a result, the best first, and the best one's parameters in full."""
    ranked = _ranked(definition, statuses)
    rows = [
        (f"{value:.6g}", escape(told(status.point.overrides, definition.space)), status.point.run_id)
        for value, status in ranked[:_ROWS]
    ]
    if not ranked:
        return
    print_table((definition.metric, "parameters", "run"), rows, right=(definition.metric,))
    if len(ranked) > _ROWS:
        print(f"… and {len(ranked) - _ROWS} more")
    value, best = ranked[0]
    print(f"best: {definition.metric} {value:.6g}")
    for override in best.point.overrides:
        if override.partition("=")[0] in definition.space:
            print(f"  {override}")
    print(f"  {runs_command('show', best.point.run_id, output_dir)}")


def value_of(definition: Definition, status: PointStatus) -> float | None:
    """What is optimised, of one trial that has completed."""
    completed = status.manifest if status.state == DONE else None
    return metric_of(completed.summary, definition.metric) if completed else None


def with_pruned(sweep: Sweep, statuses: Sequence[PointStatus]) -> list[PointStatus]:
    """``statuses`` for the eye: a run that was stopped for being worse than others is PRUNED, not CANCELLED."""
    directory = StudyDir(sweep.path)

    def pruned(status: PointStatus) -> bool:
        return status.is_missing and directory.is_pruned(status.point.run_id)

    return [dataclasses.replace(one, state=PRUNED) if pruned(one) else one for one in statuses]


def _ranked(definition: Definition, statuses: Sequence[PointStatus]) -> list[tuple[float, PointStatus]]:
    values = ((value_of(definition, status), status) for status in statuses)
    valued = [(value, status) for value, status in values if value is not None]
    return sorted(valued, key=lambda pair: pair[0], reverse=definition.direction == "maximize")
