"""RLlib's results as metrics of the run."""

import math
from collections.abc import Iterator
from numbers import Number
from typing import Any

from mosaic_worker.session import Session

_REPORTED = ("env_runners", "learners")
_LEFT_OUT = ("connector", "timer", "_throughput", "_lifetime")
"""Of names: how long RLlib's parts took, and what the events count themselves."""


def report_metrics(result: dict[str, Any], session: Session) -> None:
    """The numbers of one iteration, under RLlib's names, at the run's environment step."""
    for name, value in _numbers({part: result.get(part, {}) for part in _REPORTED}, ""):
        session.metric(name, value, session.env_steps)


def _numbers(data: dict[Any, Any], path: str) -> Iterator[tuple[str, float]]:
    for name, value in data.items():
        if any(part in str(name) for part in _LEFT_OUT):
            continue
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{name}/")
        elif isinstance(value, Number) and math.isfinite(value):  # type: ignore[arg-type]
            yield f"{path}{name}", float(value)  # type: ignore[arg-type]
