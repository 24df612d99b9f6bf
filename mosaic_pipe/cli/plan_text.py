"""A plan in words."""

from __future__ import annotations

from collections import Counter

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.tables import duration
from mosaic_pipe.sweep.estimate import Estimate, Range
from mosaic_pipe.sweep.plan import Plan

_CHANGES_SHOWN = 3


def describe_plan(name: str, plan: Plan, cost: Estimate, slots: int | None) -> str:
    """What would be done, and what it will cost.

    Args:
        name: of the sweep.
        plan: for it.
        cost: of what is missing.
        slots: how many cores will be used at once; None: the scheduler decides.
    """
    counts = Counter(_word(plan, digest) for _, digest, _ in plan.asked)
    lines = [f"sweep {name}: {len(plan.asked)} points: " + ", ".join(f"{n} {word}" for word, n in counts.items())]
    if plan.repeated:
        lines.append(f"  {plan.repeated} more are the same experiments as others, and count once")
    if plan.others:
        lines.append(f"  the sweep has {plan.others} points that these overrides do not ask for; they are left alone")
    if plan.missing:
        lines.append(f"  to run: {len(plan.missing)}, expected {describe_cost(cost, slots)}")
    return "\n".join(lines)


def changes_refusal(name: str, plan: Plan) -> SpecError | None:
    """What a user is told when the configs mean something else than when the sweep was planned."""
    if not plan.changes:
        return None
    lines = [f"{len(plan.changes)} points are no longer what they were when the sweep was planned:"]
    for change in plan.changes[:_CHANGES_SHOWN]:
        lines.append(f"{' '.join(change.overrides)}: {'; '.join(change.keys[:_CHANGES_SHOWN])}")
    if len(plan.changes) > _CHANGES_SHOWN:
        lines.append(f"… and {len(plan.changes) - _CHANGES_SHOWN} more")
    hint = "sweep=NAME begins another sweep; replan=true goes on with these points as they are now, in place of the old"
    return SpecError("\n  ".join(lines), where=f"sweep {name}", hint=hint)


def budget_refusal(cost: Estimate, budget: float | None) -> SpecError | None:
    """What a user is told when a plan may cost more than it should; ``budget``: core-hours."""
    if budget is None:
        return None
    if cost.unknown:
        kinds = "; ".join(" ".join(kind) for kind in cost.unknown)
        hint = "run one point of each first, or leave the budget out"
        return SpecError(f"nothing is known of the cost of {kinds}", where="budget", hint=hint)
    hours = cost.core_seconds.expected / 3600
    if hours > budget:
        return SpecError(f"{hours:.2f} core-hours expected, {budget:g} allowed: nothing was started", where="budget")
    return None


def _word(plan: Plan, digest: str) -> str:
    status = plan.known.get(digest)
    if status is None:
        return "new"
    failure = f" ({status.failure})" if status.failure else ""
    return f"{status.state.lower().replace('_', ' ')}{failure}"


def describe_cost(cost: Estimate, slots: int | None) -> str:
    """Core-hours and wall time; ``slots``: how many cores will be used at once; None: the scheduler decides."""
    unknown = "; ".join(" ".join(kind) for kind in cost.unknown)
    if not cost.core_seconds.expected:
        return f"cost unknown: no earlier run of {unknown}" if unknown else "cost unknown"
    told = f"{_hours(cost.core_seconds)} core-hours, {_wall(cost, slots)}"
    return f"{told}; unknown for {cost.unknown_points} of {unknown}" if unknown else told


def _hours(seconds: Range) -> str:
    expected, low, high = (f"{one / 3600:.3g}" for one in (seconds.expected, seconds.low, seconds.high))
    return f"{expected} ({low} to {high})"


def _wall(cost: Estimate, slots: int | None) -> str:
    if slots is None:
        return f"at least {duration(cost.longest.expected)} of wall time, more as the queue has it"
    expected, low, high = (
        duration(max(getattr(cost.core_seconds, one) / slots, getattr(cost.longest, one)))
        for one in ("expected", "low", "high")
    )
    return f"{expected} ({low} to {high}) of wall time on {slots} cores"
