"""Hydra's sweep syntax read as a search space: what varies, and what all trials have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.store.studies import Axis, Space

_INSIDE = 0.381966011


def search_space(overrides: Sequence[Override]) -> tuple[Space, list[str]]:
    """Axes by key, and the other overrides; one that is given again replaces the first.

    Raises:
        SpecError: an axis makes no sense, or there is none.
    """
    last = {override.get_key_element(): override for override in overrides}
    space = {key: _axis(override, key) for key, override in last.items() if override.is_sweep_override()}
    if not space:
        hint = "for example 'algo.learning_rate=tag(log, interval(1e-5,1e-2))', 'algo.num_envs=choice(4,8)'"
        raise SpecError("there is nothing to optimise: no override says what may vary", hint=hint)
    return space, [override.input_line or "" for key, override in last.items() if key not in space]


def space_overrides(space: Space, values: dict[str, Any]) -> list[str]:
    """The overrides of the point that has ``values``."""
    return [f"{key}={_text(axis, values[key])}" for key, axis in space.items()]


def some_values(space: Space) -> dict[str, Any]:
    """A point somewhere in ``space``; a number that may be any is not a whole one."""
    return {key: _some(axis) for key, axis in space.items()}


def space_differences(old: Space, new: Space) -> list[str]:
    """``key: …, now …`` for what differs."""
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return [f"{key}: {old.get(key, 'not varied')}, now {new.get(key, 'not varied')}" for key in keys]


def _axis(override: Override, key: str) -> Axis:
    value: Any = override.value()
    if override.is_interval_sweep():
        axis = _interval(value)
    elif override.is_range_sweep():
        axis = _range(value, key)
    else:
        axis = Axis(choices=tuple(dict.fromkeys(override.sweep_string_iterator())))
        if not axis.choices:
            raise SpecError("matches nothing", where=override.input_line or key)
    _check(axis, key)
    return axis


def _some(axis: Axis) -> Any:
    if axis.choices:
        return axis.choices[0]
    return axis.low if axis.step else axis.low + (axis.high - axis.low) * _INSIDE


def _interval(interval: IntervalSweep) -> Axis:
    low, high = interval.start, interval.end
    assert low is not None and high is not None
    # Hydra itself makes floats of both ends; int(interval(…)) makes them whole again.
    whole = "int" in interval.tags or (isinstance(low, int) and isinstance(high, int))
    low, high = (int(low), int(high)) if whole else (float(low), float(high))
    return Axis(low=low, high=high, log="log" in interval.tags, whole=whole, step=1 if whole else None)


def _range(swept: RangeSweep, key: str) -> Axis:
    """The values that a grid would have: the end of a range is not one of them."""
    values = sorted(swept.range())
    if not values:
        raise SpecError("an empty range", where=key)
    whole = all(isinstance(value, int) for value in values)
    low, high, step = (int if whole else float)(values[0]), values[-1], abs(swept.step)
    return Axis(low=low, high=high if whole else float(high), step=step, log="log" in swept.tags, whole=whole)


def _check(axis: Axis, key: str) -> None:
    if axis.choices:
        return
    if axis.low > axis.high:
        raise SpecError(f"begins at {axis.low:g} and ends at {axis.high:g}", where=key)
    if axis.log and axis.low <= 0:
        raise SpecError(f"begins at {axis.low:g}: a logarithmic scale has no numbers up to 0", where=key)
    if axis.log and axis.step and not (axis.whole and axis.step == 1):
        raise SpecError("a logarithmic scale has no steps", where=key, hint="leave out log, or use an interval")


def _text(axis: Axis, value: Any) -> str:
    if axis.choices:
        return str(value)
    # 0.1 + 2 * 0.1 is 0.30000000000000004, which a grid does not have
    return repr(int(value)) if axis.whole else repr(float(f"{value:.12g}") if axis.step else float(value))


def told(overrides: Iterable[str], space: Space) -> str:
    """What tells a point from the others, with numbers cut to what one cares to read."""
    pairs = (override.partition("=")[::2] for override in overrides)
    return " ".join(f"{key}={_short(value)}" for key, value in pairs if key in space)


def _short(value: str) -> str:
    try:
        return value if len(value) < 8 else f"{float(value):.5g}"
    except ValueError:
        return value
