"""What points will cost, judged by earlier runs of the same kind: same worker, algorithm and environment.

A run takes a while to start and end, and then time in proportion to its environment steps. The interval of a kind is
that of the middle 80 % of its earlier runs, and a half to twice as much where there are one or two; intervals are
added up as if all runs were slow, or fast, together, which on a shared machine they are.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State

NEWEST_RUNS = 1000
"""How many runs are looked at."""

_ENOUGH_RUNS = 3

Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Range:
    """An expectation and its interval, in seconds."""

    expected: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def __add__(self, other: Range) -> Range:
        return Range(self.expected + other.expected, self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> Range:
        """All three multiplied."""
        return Range(self.expected * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Estimate:
    """What points will cost. ``core_seconds``: cores that are held, times how long; ``longest``: of one run."""

    core_seconds: Range
    longest: Range
    unknown: tuple[Kind, ...]
    """Kinds that nothing is known of; their points are not in the numbers."""
    unknown_points: int


def estimate(work: Iterable[tuple[RunSpec, int]], runs: Runs) -> Estimate:
    """What ``work`` will cost: specs, and the environment steps that each has left."""
    costs = _costs(runs)
    total, longest = Range(), Range()
    unknown: dict[Kind, int] = defaultdict(int)
    for spec, steps in work:
        kind = kind_of(spec)
        if kind not in costs:
            unknown[kind] += 1
            continue
        seconds = costs[kind].fixed + costs[kind].step.times(steps)
        total += seconds.times(spec.resources.cpus)
        longest = max(longest, seconds, key=lambda range_: range_.expected)
    return Estimate(total, longest, tuple(unknown), sum(unknown.values()))


def kind_of(spec: RunSpec) -> Kind:
    """Runs of one kind take about the same time for a step."""
    return spec.worker.name, spec.algo.name, spec.env.id


@dataclass(frozen=True)
class _Cost:
    """Of a kind of run, in seconds: starting and ending, and each step."""

    fixed: Range
    step: Range


def _costs(runs: Runs) -> dict[Kind, _Cost]:
    found: dict[Kind, list[tuple[float, float]]] = defaultdict(list)
    for manifest in _newest(runs):
        summary = manifest.summary
        if manifest.state is State.COMPLETED and manifest.spec.mode == "train" and summary.env_steps and summary.sps:
            held = sum((one.ended or one.started) - one.started for one in manifest.attempts)
            step = min(1 / summary.sps, held / summary.env_steps)
            found[kind_of(manifest.spec)].append((held - step * summary.env_steps, step))
    return {kind: _Cost(*(_range(sorted(part)) for part in zip(*parts, strict=True))) for kind, parts in found.items()}


def _range(rates: list[float]) -> Range:
    if len(rates) < _ENOUGH_RUNS:
        return Range(statistics.median(rates), rates[0] / 2, rates[-1] * 2)
    cut = len(rates) // 10
    return Range(statistics.median(rates), rates[cut], rates[-1 - cut])


def _newest(runs: Runs) -> Iterable[Manifest]:
    for run_id in islice(reversed(runs.ids()), NEWEST_RUNS):
        try:
            yield runs.new(run_id).read_manifest()
        except UserError:
            continue
