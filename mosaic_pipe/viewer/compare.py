"""Runs that differ in their seed alone as one curve: the mean of the seeds that have come so far, and their range."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.sweep.plan import leaves
from mosaic_pipe.telemetry.curves import RETURN
from mosaic_pipe.telemetry.series import Series
from mosaic_pipe.viewer.cache import Cache
from mosaic_pipe.viewer.curves import RunCurves, rounded

READ_SECONDS = 0.3
"""So long an answer may take to read files; who wants the rest asks again."""

MAX_GROUPS = 60

BUCKETS = 120
"""Points of a curve: few, so that each is a mean of many episodes, and several curves can be told apart."""

_SAME = ("run_id", "seed", "sweep", "labels", "resources", "tracking", "fastlane", "checkpoint", "schema_version")


class Comparison:
    """Compares runs by one metric; remembers what it has read."""

    def __init__(self, limit: int = 4000) -> None:
        self._curves: Cache[tuple[Path, str], RunCurves] = Cache(limit, _curves_of)

    def compare(self, groups: Mapping[str, Sequence[RunDir]], metric: str = RETURN) -> dict[str, Any]:
        """A curve for each of ``groups``, of those runs that could be read in :data:`READ_SECONDS`.

        Args:
            groups: runs that differ in their seed, by name; those beyond :data:`MAX_GROUPS` are left out.
            metric: whose curve.
        """
        shown = dict(list(groups.items())[:MAX_GROUPS])
        curves = {name: [self._curves[run.path, metric] for run in runs] for name, runs in shown.items()}
        deadline = time.monotonic() + READ_SECONDS
        everything = [one for group in curves.values() for one in group]
        for one in sorted(everything, key=lambda one: one.read_at):
            one.update()
            if time.monotonic() > deadline:
                break
        read = [one for one in everything if one.read_at]
        return {
            "metric": metric,
            "metrics": sorted(set().union(*(one.names() for one in read))),
            "groups": [_curve(name, group, metric) for name, group in curves.items()],
            "left_out": len(groups) - len(shown),
            "read": len(read),
            "of": len(everything),
        }


def _curves_of(key: tuple[Path, str]) -> RunCurves:
    return RunCurves(RunDir(key[0]), key[1], BUCKETS)


def by_difference(specs: Mapping[str, RunSpec]) -> dict[str, list[str]]:
    """Ids of runs by what tells them apart, apart from their seeds."""
    found = {run_id: _telling(spec) for run_id, spec in specs.items()}
    keys = {key for one in found.values() for key in one}
    varying = sorted(key for key in keys if len({one.get(key) for one in found.values()}) > 1)
    heads = [key for key in ("worker.name", "algo.name", "env.id", "mode") if key in varying]
    groups: dict[str, list[str]] = {}
    for run_id, spec in specs.items():
        same_head = [one for one in found.values() if all(one.get(key) == found[run_id].get(key) for key in heads)]
        rest = [key for key in varying if key not in heads and len({one.get(key) for one in same_head}) > 1]
        parts = [found[run_id].get(key, "") for key in heads]
        parts += [f"{key}={found[run_id].get(key, 'not set')}" for key in rest[:4]]
        groups.setdefault(" ".join(parts) or spec.title().rpartition(",")[0], []).append(run_id)
    return groups


def _telling(spec: RunSpec) -> dict[str, str]:
    return {key: str(value) for key, value in leaves(spec) if key.split(".")[0] not in _SAME}


def _curve(name: str, group: Sequence[RunCurves], metric: str) -> dict[str, Any]:
    series = [found for one in group if (found := one.series(metric)) and found.buckets]
    x, mean, low, high = _together(series)
    seeds = {"name": name, "runs": len(group), "seeds": len(series)}
    return {**seeds, "x": x, "y": rounded(mean), "low": rounded(low), "high": rounded(high)}


def _together(series: Sequence[Series]) -> tuple[list[float], list[float], list[float], list[float]]:
    """Steps, and mean, lowest and highest of the seeds' means there."""
    if not series:
        return [], [], [], []
    width = max(one.width for one in series)
    first, last = (
        min(min(one.buckets) * one.width for one in series),
        max(max(one.buckets) * one.width for one in series),
    )
    while (last - first) / width > BUCKETS:
        width *= 2
    for one in series:
        one.widen(width)
    wanted = sorted({index for one in series for index in one.buckets})
    rows = zip(*(_held(one, wanted) for one in series), strict=True)
    values = [[value for value in row if value is not None] for row in rows]
    x = [series[0].middle(index) for index in wanted]
    return x, [sum(row) / len(row) for row in values], [min(row) for row in values], [max(row) for row in values]


def _held(series: Series, wanted: Sequence[int]) -> list[float | None]:
    """The mean of each of the buckets ``wanted``; of an empty one, the one before; None outside of the series."""
    held: float | None = None
    values, last = [], max(series.buckets)
    for index in wanted:
        if bucket := series.buckets.get(index):
            held = bucket.total / bucket.count
        values.append(held if index <= last else None)
    return values
