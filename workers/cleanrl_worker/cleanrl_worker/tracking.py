"""The scripts' SummaryWriter: every scalar becomes a metric; files go into the run's directory, or nowhere."""

from typing import Any

import torch.utils.tensorboard
from mosaic_worker.session import Session

_EPISODES = ("charts/episodic_return", "charts/episodic_length")
"""Scalars of finished episodes; the environment's monitor reports them, and all of them."""


def install(session: Session, tensorboard: bool) -> None:
    """Replace the SummaryWriter that scripts import; with ``tensorboard``, its files go to ``tensorboard/``."""
    directory = session.run_dir / "tensorboard"
    base: Any = torch.utils.tensorboard.SummaryWriter if tensorboard else _NoFiles

    class SummaryWriter(base):
        def __init__(self, log_dir: Any = None, **kwargs: Any) -> None:
            super().__init__(str(directory), **kwargs)
            if tensorboard:
                session.artifact("tensorboard", directory)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kwargs: Any) -> None:
            super().add_scalar(tag, scalar_value, global_step, *args, **kwargs)
            if tag not in _EPISODES:
                session.metric(tag, float(scalar_value), int(global_step or 0))

    torch.utils.tensorboard.SummaryWriter = SummaryWriter


class _NoFiles:
    """A SummaryWriter that writes nothing."""

    def __init__(self, directory: str) -> None:
        pass

    def add_scalar(self, *args: Any, **kwargs: Any) -> None:
        """Write nothing."""

    # Every other method that the scripts call does the same.
    add_text = flush = close = add_scalar
