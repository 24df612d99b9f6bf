"""RLlib's results as metrics: events, and TensorBoard's files where the spec asks for them."""

import math
from collections.abc import Iterator
from numbers import Number
from typing import Any

from mosaic_worker.session import Session
from mosaic_worker.spec import Spec

_REPORTED = ("env_runners", "learners")
_LEFT_OUT = ("connector", "timer", "_throughput", "_lifetime")
"""Of names: how long RLlib's parts took, and what the events count themselves."""


class Metrics:
    """The numbers of an iteration, under RLlib's names, at the run's environment step."""

    def __init__(self, session: Session, spec: Spec) -> None:
        self._session = session
        self._writer: Any = None
        if spec.tracking.tensorboard:
            from tensorboardX import SummaryWriter

            directory = session.run_dir / "tensorboard"
            self._writer = SummaryWriter(str(directory))
            session.artifact("tensorboard", directory)

    def report(self, result: dict[str, Any]) -> None:
        """Report one iteration."""
        now = self._session.env_steps
        for name, value in _numbers({part: result.get(part, {}) for part in _REPORTED}, ""):
            self._session.metric(name, value, now)
            if self._writer is not None:
                self._writer.add_scalar(name, value, now)

    def close(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()


def _numbers(data: dict[Any, Any], path: str) -> Iterator[tuple[str, float]]:
    for name, value in data.items():
        if any(part in str(name) for part in _LEFT_OUT):
            continue
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{name}/")
        elif isinstance(value, Number) and math.isfinite(value):  # type: ignore[arg-type]
            yield f"{path}{name}", float(value)  # type: ignore[arg-type]
