"""Numbers of a manifest's summary, by name: ``episode_return_mean``, ``sps``, ``eval.return_mean``."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.telemetry.fold import Summary

EVALUATION = "eval"
NAMES = tuple(field.name for field in msgspec.structs.fields(Summary) if field.name != EVALUATION)
"""Those that every summary has room for; an evaluation's results are its worker's affair."""


def check_metric(name: str, where: str) -> None:
    """Refuse what no summary can have.

    Raises:
        SpecError: it names no number.
    """
    if name in NAMES or name.startswith(f"{EVALUATION}."):
        return
    near = did_you_mean(name, NAMES)
    known = f"a summary has {', '.join(NAMES)}; after an evaluation {EVALUATION}.NAME"
    hint = f"{near}\n  {known}" if near.startswith("did") else known
    raise SpecError(f"there is no metric {name!r}", where=where, hint=hint)


def metric_of(summary: Summary, name: str) -> float | None:
    """The number called ``name``; None where the run has none, or none that can be compared (NaN, infinities)."""
    value = _numbers(msgspec.to_builtins(summary)).get(name)
    return value if value is not None and math.isfinite(value) else None


def why_not(summary: Summary, name: str) -> str:
    """Why :func:`metric_of` found none."""
    numbers = _numbers(msgspec.to_builtins(summary))
    if name in numbers:
        return f"{name} is {numbers[name]}"
    return f"the run has no {name}; it has {', '.join(sorted(numbers))}"


def _numbers(node: Any, path: str = "") -> dict[str, float]:
    if isinstance(node, dict):
        dotted = ((f"{path}.{key}" if path else str(key), item) for key, item in node.items())
        return {name: number for key, item in dotted for name, number in _numbers(item, key).items()}
    is_number = isinstance(node, int | float) and not isinstance(node, bool)
    return {path: float(node)} if is_number else {}
