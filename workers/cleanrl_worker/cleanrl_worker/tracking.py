"""The scripts' SummaryWriter and W&B: every scalar becomes a metric; files go into the run's directory, or nowhere."""

import sys
from pathlib import Path
from typing import Any

import torch.utils.tensorboard
from mosaic_worker.rl.tracking import offline_without_key
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, trains

_EPISODES = ("charts/episodic_return", "charts/episodic_length")
"""Scalars of finished episodes; the environment's monitor reports them, and all of them."""


def install(session: Session, spec: Spec) -> None:
    """Replace the SummaryWriter that scripts import, and set W&B up for their own ``wandb.init``."""
    tensorboard = spec.tracking.tensorboard and trains(spec)
    wandb = spec.tracking.wandb and trains(spec)
    native = {name.replace("-", "_"): value for name, value in spec.algo.native.items()}
    saves_models = native.get("save_model") or spec.algo.name.startswith("qdagger")
    directory = session.run_dir / "tensorboard"
    base: Any = torch.utils.tensorboard.SummaryWriter if tensorboard else _WandbOnly if wandb else _NoFiles

    class SummaryWriter(base):
        def __init__(self, log_dir: Any = None, **kwargs: Any) -> None:
            super().__init__(str(directory), **kwargs)
            if saves_models and log_dir:
                Path(log_dir).mkdir(parents=True, exist_ok=True)  # the scripts save models beside these files
            if tensorboard:
                session.artifact("tensorboard", directory)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kwargs: Any) -> None:
            super().add_scalar(tag, scalar_value, global_step, *args, **kwargs)
            if tag not in _EPISODES:
                session.metric(tag, float(scalar_value), int(global_step or 0))

    torch.utils.tensorboard.SummaryWriter = SummaryWriter
    if wandb:
        _install_wandb(session, spec, sync_tensorboard=tensorboard)


def close() -> None:
    """End the W&B run, where there is one: what it has not sent yet is sent or written."""
    wandb = sys.modules.get("wandb")
    if wandb is not None and wandb.run is not None:
        wandb.finish()


def _install_wandb(session: Session, spec: Spec, *, sync_tensorboard: bool) -> None:
    import wandb

    offline_without_key(session)
    original = wandb.init

    def init(**given: Any) -> Any:
        ours = {
            "dir": str(session.run_dir),
            "id": spec.run_id,
            "group": spec.sweep,
            "sync_tensorboard": sync_tensorboard,
        }
        run = original(**{**given, **ours})
        session.artifact("wandb", Path(run.dir).parent, url=run.url)
        return run

    wandb.init = init


class _NoFiles:
    """A SummaryWriter that writes nothing."""

    def __init__(self, directory: str) -> None:
        pass

    def add_scalar(self, *args: Any, **kwargs: Any) -> None:
        """Write nothing."""

    # Every other method that the scripts call does the same.
    add_text = flush = close = add_scalar


class _WandbOnly(_NoFiles):
    """A SummaryWriter whose scalars go to W&B alone."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *_: Any, **__: Any) -> None:
        """Log one scalar."""
        import wandb

        wandb.log({tag: float(scalar_value), "global_step": int(global_step or 0)})
