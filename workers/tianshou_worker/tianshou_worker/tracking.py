"""Tianshou's statistics as metrics of the run."""

from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any

from mosaic_worker.session import Session
from tianshou.utils.logger.logger_base import BaseLogger

STEPS = 1000
"""Environment steps, or updates, between two reports, about."""
_LEFT_OUT = ("returns", "lens", "returns_stat", "lens_stat")
"""Of the episodes: they are reported one by one, and all of them."""


class Metrics(BaseLogger):
    """A logger of Tianshou's that reports to the session; a metric's step is the run's environment step, or update."""

    def __init__(self, session: Session, collected: int) -> None:
        super().__init__(training_interval=STEPS, update_interval=max(1, STEPS // collected))
        self._session = session

    def write(self, step_type: str, step: int, data: dict[str, Any]) -> None:
        """Report numbers of one kind: ``training``, ``update`` or ``info``."""
        kind = step_type.partition("/")[0]
        for name, value in data.items():
            self._session.metric(f"{kind}/{name}", value, self._session.progress)

    def prepare_dict_for_logging(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Nested statistics as plain numbers."""
        return dict(_numbers({name: value for name, value in log_data.items() if name not in _LEFT_OUT}, ""))

    def log_info_data(self, log_data: dict[str, Any], step: int) -> None:
        """At the end of an epoch: nothing that the events do not say."""

    def finalize(self) -> None:
        """Nothing was opened."""

    def save_data(
        self, epoch: int, env_step: int, update_step: int, save_checkpoint_fn: Callable[..., str] | None = None
    ) -> None:
        """Checkpoints are the worker's."""

    def restore_data(self) -> tuple[int, int, int]:
        """Counters are the worker's too."""
        return 0, 0, 0

    @staticmethod
    def restore_logged_data(log_path: str) -> dict[str, Any]:
        """Nothing is read back."""
        return {}


def _numbers(data: dict[Any, Any], path: str) -> Iterator[tuple[str, float]]:
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{name}/")
        elif isinstance(value, Number):
            yield f"{path}{name}", float(value)  # type: ignore[arg-type]
