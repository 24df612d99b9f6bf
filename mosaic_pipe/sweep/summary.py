"""The results of a sweep: mean and interval of each cell, that is of the points that differ in their seed alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_pipe.store.states import State
from mosaic_pipe.sweep.status import PointStatus

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom; above, the normal distribution's is near enough.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.960


@dataclass(frozen=True)
class Cell:
    """Points that differ in their seed alone. ``half_width``: of the 95 % interval of the mean, Student's t."""

    name: str
    points: int
    completed: int
    mean: float | None
    half_width: float | None
    sps: float | None
    """Environment steps a second, the mean of the completed points."""


def cells(statuses: Sequence[PointStatus]) -> list[Cell]:
    """The cells of a sweep, in the order of their first points; the number is the mean return of the last episodes."""
    groups: dict[str, list[PointStatus]] = {}
    for status, name in zip(statuses, cell_names(statuses), strict=True):
        groups.setdefault(name, []).append(status)
    return [_cell(name, group) for name, group in groups.items()]


def cell_names(statuses: Sequence[PointStatus]) -> list[str]:
    """The cell of each point; empty where there is but one."""
    return [" ".join(one for one in telling if not one.startswith("seed=")) for telling in _telling(statuses)]


def names(statuses: Sequence[PointStatus]) -> list[str]:
    """What tells each point from the others, in words."""
    return [" ".join(telling) for telling in _telling(statuses)]


def interval(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % confidence interval of the mean of ``values`` (Student, 1908); None for one value."""
    freedom = len(values) - 1
    if freedom < 1:
        return None
    quantile = _T[freedom - 1] if freedom <= len(_T) else _NORMAL
    return quantile * statistics.stdev(values) / math.sqrt(freedom + 1)


def _telling(statuses: Sequence[PointStatus]) -> list[list[str]]:
    """The overrides of each point without those that all have."""
    overrides = [set(status.point.overrides) for status in statuses]
    common = set.intersection(*overrides) if len(overrides) > 1 else set()
    return [[one for one in status.point.overrides if one not in common] for status in statuses]


def _cell(name: str, group: Sequence[PointStatus]) -> Cell:
    completed = [one.manifest for one in group if one.manifest and one.state == State.COMPLETED.value]
    means = (manifest.summary.mean_return for manifest in completed)
    returns = [mean for mean in means if mean is not None]
    mean = statistics.fmean(returns) if returns else None
    speeds = [manifest.summary.sps for manifest in completed if manifest.summary.sps]
    sps = statistics.fmean(speeds) if speeds else None
    return Cell(name, len(group), len(completed), mean, interval(returns), sps)
