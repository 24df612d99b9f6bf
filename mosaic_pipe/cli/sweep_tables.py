"""Tables about sweeps."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.cli.foreground import exit_code
from mosaic_pipe.cli.live_sweep import LiveSweep
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.own import sweep_command
from mosaic_pipe.cli.search_space import told
from mosaic_pipe.cli.study_tables import print_results, value_of, with_pruned
from mosaic_pipe.cli.tables import print_json, print_table, steps_cell
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.studies import study_of
from mosaic_pipe.store.sweeps import Sweep, Sweeps
from mosaic_pipe.sweep.status import DONE, NEW, PointStatus, counted
from mosaic_pipe.sweep.summary import Cell, cells, names

_COLUMNS = ("run", "state", "point", "attempts", "steps", "reason")


def print_summary(sweep: Sweep, statuses: Sequence[PointStatus], output_dir: Path) -> None:
    """The results of a sweep, by cell or by trial, and what to do next."""
    if study := study_of(sweep):
        print_results(study, statuses, output_dir)
    else:
        print_cells(cells(statuses))
    print(f"sweep {sweep.name}: {counted(with_pruned(sweep, statuses))}")
    print(f"  look       {sweep_command('status', sweep.name, output_dir)}")
    if any(status.is_active for status in statuses):
        print(f"  watch      {sweep_command('watch', sweep.name, output_dir)}")
    if any(status.is_missing and status.failure for status in statuses):
        print(f"  try again  {sweep_command('retry', sweep.name, output_dir, '--failed')}")


def list_sweeps(options: argparse.Namespace) -> int:
    """List all sweeps."""
    sweeps, runs = Sweeps(options.output_dir), Runs(options.output_dir)
    found = []
    for name in sweeps.names():
        try:
            sweep = sweeps.find(name)
            found.append((sweep, LiveSweep(sweep, runs).look()))
        except UserError as error:  # the others are to be seen all the same
            show_notice(f"left out: {error}")
    if options.json:
        print_json([{"name": sweep.name, "points": Counter(one.state for one in points)} for sweep, points in found])
    elif found:
        rows = [(escape(sweep.name), str(len(points)), escape(counted(points))) for sweep, points in found]
        print_table(("sweep", "points", "state"), rows, right=("points",))
    else:
        print(f"no sweeps in {sweeps.directory}")
    return Exit.OK


def show_sweep(options: argparse.Namespace) -> int:
    """Show one sweep."""
    sweep = Sweeps(options.output_dir).find(options.name)
    statuses = LiveSweep(sweep, Runs(options.output_dir)).look()
    if options.json:
        print_json(_as_json(sweep, statuses))
        return Exit.OK
    print_summary(sweep, statuses, options.output_dir)
    named = zip(with_pruned(sweep, statuses), _names(sweep, statuses), strict=True)
    rows = [_cells(status, name) for status, name in named if status.state != DONE]
    if rows:
        print()
        print_table(_COLUMNS, rows, right=("attempts", "steps"))
    return Exit.OK


def print_cells(found: Sequence[Cell]) -> None:
    """One line a cell: how many of its points have completed, the mean return with its 95 % interval, the speed."""
    numbers = ("completed", "return", "± 95 %", "steps/s")
    rows = [
        (
            escape(cell.name or "all"),
            f"{cell.completed}/{cell.points}",
            _number(cell.mean),
            _number(cell.half_width),
            "-" if cell.sps is None else f"{cell.sps:.0f}",
        )
        for cell in found
    ]
    print_table(("cell", *numbers), rows, right=numbers)


def worst_exit_code(statuses: Sequence[PointStatus], *, fail_fast: bool = False) -> int:
    """The exit code of a command that ran these points, or left them running.

    Args:
        statuses: of the points.
        fail_fast: what was cancelled was so because of what failed.
    """
    codes = {exit_code(one.manifest) for one in statuses if one.manifest and not one.is_active}
    if any(status.state == NEW for status in statuses):
        codes.add(Exit.RUN_FAILED)
    if fail_fast and Exit.RUN_FAILED in codes:
        codes.discard(Exit.CANCELLED)
    return max(codes, default=Exit.OK)


def _names(sweep: Sweep, statuses: Sequence[PointStatus]) -> list[str]:
    study = study_of(sweep)
    return [told(one.point.overrides, study.space) for one in statuses] if study else names(statuses)


def _as_json(sweep: Sweep, statuses: Sequence[PointStatus]) -> dict[str, Any]:
    rows = [_row(status) for status in with_pruned(sweep, statuses)]
    study = study_of(sweep)
    if study is None:
        return {"name": sweep.name, "points": rows}
    valued = [{**row, "value": value_of(study, status)} for row, status in zip(rows, statuses, strict=True)]
    return {"name": sweep.name, "metric": study.metric, "direction": study.direction, "points": valued}


def _row(status: PointStatus) -> dict[str, Any]:
    manifest = status.manifest
    return {
        "run_id": status.point.run_id,
        "spec_hash": status.point.spec_hash,
        "overrides": status.point.overrides,
        "state": status.state,
        "failure": status.failure,
        "attempts": len(manifest.attempts) if manifest else 0,
        "env_steps": manifest.summary.env_steps if manifest else 0,
        "updates": manifest.summary.updates if manifest else None,
        "episode_return_mean": manifest.summary.episode_return_mean if manifest else None,
    }


def _cells(status: PointStatus, name: str) -> tuple[str, ...]:
    row = _row(status)
    state = f"{status.state} {status.failure}" if status.failure else status.state
    reason = status.manifest.failure.reason if status.manifest and status.manifest.failure else ""
    numbers = (str(row["attempts"]), steps_cell(row))
    return (row["run_id"], escape(state), escape(name), *numbers, escape(reason))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
