"""TensorBoard's files and W&B, for libraries whose numbers reach both through a run's events."""

import json
import netrc
import os
from pathlib import Path
from typing import Any, Dict

from mosaic_worker.emitter import Payload
from mosaic_worker.protocol import Event
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec, trains

_TOTALS = ("env_steps", "updates", "wall_time")


class Tracker:
    """Follows a run's episodes and metrics, and writes each number where ``spec.tracking`` says.

    Episodes are ``episode/return`` and ``episode/length``, where several agents act ``episode/return/<agent>`` too;
    metrics keep their names; means of evaluations within training are ``eval/return`` and ``eval/length``. The axis is
    ``env_steps``, or ``updates`` where a run takes no steps.
    """

    def __init__(self, session: Session, spec: Spec) -> None:
        self._axis = "updates" if hasattr(spec.algo, "updates") else "env_steps"
        self._writer: Any = None
        self._wandb: Any = None
        if not trains(spec):
            return
        if spec.tracking.tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            directory = session.run_dir / "tensorboard"
            self._writer = SummaryWriter(str(directory))
            session.artifact("tensorboard", directory)
        if spec.tracking.wandb:
            self._wandb = _begin(session, spec, self._axis)
        if self._writer or self._wandb:
            session.follow(self._write)

    def close(self) -> None:
        """Write, or send, what waits."""
        if self._writer:
            self._writer.close()
        if self._wandb:
            self._wandb.finish()

    def _write(self, event: str, payload: Payload) -> None:
        if event == Event.EPISODE:
            numbers = _of_episode(payload)
        elif event == Event.METRICS:
            numbers = {name: value for name, value in payload.items() if name not in _TOTALS}
        elif event == Event.EVAL_COMPLETED:
            numbers = {"eval/return": payload["return_mean"], "eval/length": payload["length_mean"]}
        else:
            return
        if self._writer:
            for name, value in numbers.items():
                self._writer.add_scalar(name, value, payload[self._axis])
        if self._wandb:
            self._wandb.log({**numbers, self._axis: payload[self._axis]})


def offline_without_key(session: Session) -> None:
    """Let W&B write into the run's directory where nobody has logged in, rather than ask for a key."""
    if "WANDB_MODE" not in os.environ and not _has_key():
        os.environ["WANDB_MODE"] = "offline"
        session.warning("no key of W&B (WANDB_API_KEY, wandb login): it writes offline; send it with wandb sync DIR")


def _begin(session: Session, spec: Spec, axis: str) -> Any:
    """W&B's run: its id is ours, so that attempts of one run are one there too."""
    import wandb

    offline_without_key(session)
    run = wandb.init(
        project=spec.tracking.wandb_project,
        entity=spec.tracking.wandb_entity,
        id=spec.run_id,
        group=spec.sweep,
        config=json.loads((session.run_dir / "spec.json").read_text(encoding="utf-8")),
        dir=str(session.run_dir),
        resume="allow",
    )
    run.define_metric("*", step_metric=axis)
    session.artifact("wandb", Path(run.dir).parent, url=run.url)
    return run


def _has_key() -> bool:
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai").split("://")[-1].split("/")[0]
    try:
        return netrc.netrc().authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def _of_episode(payload: Payload) -> Dict[str, float]:
    numbers = {"episode/return": payload["episode_return"], "episode/length": payload["episode_length"]}
    each = payload.get("agent_returns", {})
    return {**numbers, **{f"episode/return/{agent}": value for agent, value in each.items()}}
