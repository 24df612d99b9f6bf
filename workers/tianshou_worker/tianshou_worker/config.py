"""A spec in Tianshou's terms: what its constructors are given, and the pace of its training."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic_worker.datasets import read_description
from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec, hyperparameters, library_names, trains

from tianshou_worker import get_worker_metadata

_OF_THE_PACE = (
    "num_envs",
    "rollout_steps",
    "minibatches",
    "update_epochs",
    "batch_size",
    "updates",
    "train_interval",
    "learning_starts",
    "target_update_interval",
    "epsilon_start",
    "epsilon_end",
    "exploration_fraction",
)
"""Canonical hyperparameters that are no argument of a constructor as they are."""


_COLLECTED, _BATCH = 2048, 64
"""Steps of a rollout and of a minibatch where nothing sets them, as in Tianshou's ``OnPolicyTrainerParams``."""


@dataclass(frozen=True)
class Pace:
    """How collecting and updating take turns; all in environment steps, summed over the environments.

    Where an algorithm learns from a dataset alone there are no environments, and updates stand for steps.
    """

    num_envs: int
    collected: int
    """Steps between two updates."""
    learning_starts: int
    """Steps before the first update."""
    total: int
    """Steps of the whole run: the budget, rounded down to whole collections."""
    batch_size: int
    repetitions: int
    """Passes over what was collected; 0: off-policy, a batch is drawn from a buffer instead."""


@dataclass(frozen=True)
class Exploration:
    """Epsilon of an epsilon-greedy policy."""

    start: float
    end: float
    steps: float
    """Environment steps over which it falls."""

    def epsilon(self, env_steps: int) -> float:
        """Epsilon after ``env_steps`` steps."""
        fallen = min(1.0, env_steps / self.steps) if self.steps else 1.0
        return self.start + fallen * (self.end - self.start)


@dataclass(frozen=True)
class TianshouConfig:
    """Everything that a run needs beside its spec."""

    spec: Spec
    pace: Pace
    settings: dict[str, Any]
    """Arguments of Tianshou's constructors, by its own names: canonical ones translated, and ``algo.native``."""
    exploration: Exploration | None
    dataset: Path | None
    """What an algorithm learns from that needs one; None where it only plays."""

    @property
    def offline(self) -> bool:
        """Whether the algorithm learns from a dataset alone."""
        return not self.pace.num_envs

    @classmethod
    def from_spec(cls, spec: Spec) -> "TianshouConfig":
        """Translate ``spec``.

        Raises:
            UserError: Tianshou has no such algorithm or hyperparameter, or cannot do what is asked of it.
        """
        metadata = get_worker_metadata()
        given, names = hyperparameters(spec), library_names(spec, metadata)
        offline = "updates" in names
        pace = _offline_pace(spec, given) if offline else _pace(spec, given, on_policy="rollout_steps" in names)
        settings = {
            names[name]: value
            for name, value in given.items()
            if name not in _OF_THE_PACE and name in names and value is not None
        }
        if "target_update_interval" in given:
            settings[names["target_update_interval"]] = _updates(given["target_update_interval"], pace)
        dataset = _dataset(spec) if metadata["algorithms"][spec.algo.name].get("dataset") else None
        return cls(spec, pace, {**settings, **spec.algo.native}, _exploration(spec, given), dataset)

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data; the checkpoint is read for it.

        Raises:
            UserError: the checkpoint is none, or another algorithm's; the dataset is none, or not whole.
        """
        described = {"env_id": self.spec.env.id, "pace": asdict(self.pace), "settings": self.settings}
        if self.dataset:
            described["dataset"] = {"path": str(self.dataset), "steps": read_description(self.dataset)["steps"]}
        if not self.spec.resume.checkpoint:
            return described
        from tianshou_worker.checkpoints import CHECKPOINTS  # imports torch

        return {**described, "checkpoint": CHECKPOINTS.describe(self.spec)}


def _pace(spec: Spec, given: dict[str, Any], *, on_policy: bool) -> Pace:
    num_envs = given.get("num_envs", 1)
    if on_policy:
        collected, starts = num_envs * given["rollout_steps"] if "rollout_steps" in given else _COLLECTED, 0
        minibatches, repetitions = given.get("minibatches", max(1, collected // _BATCH)), given.get("update_epochs", 1)
        batch_size = collected // minibatches
        if not batch_size:
            raise UserError(f"algo.minibatches: {minibatches} of a rollout of {collected} steps")
    else:
        collected, repetitions = given.get("train_interval", num_envs), 0
        starts, batch_size = given.get("learning_starts", 0), given.get("batch_size", 64)
        if collected % num_envs:
            raise UserError(f"algo.train_interval: {collected} is no multiple of algo.num_envs={num_envs}")
    if spec.total_timesteps < collected:
        raise UserError(
            f"total_timesteps: {spec.total_timesteps} is less than what {spec.algo.name} collects for one update, "
            f"{collected} steps"
        )
    total = spec.total_timesteps // collected * collected
    return Pace(num_envs, collected, min(-(-starts // collected) * collected, total), total, batch_size, repetitions)


def _dataset(spec: Spec) -> Path | None:
    if not trains(spec):
        return None
    if not spec.dataset.path:
        raise UserError(f"dataset: {spec.algo.name} learns from recorded steps")
    return Path(spec.dataset.path)


def _offline_pace(spec: Spec, given: dict[str, Any]) -> Pace:
    if "updates" not in given:
        raise UserError(f"algo.updates: {spec.algo.name} needs to know how many updates to make")
    return Pace(0, 1, 0, given["updates"], given.get("batch_size", 64), 0)


def _updates(interval: int, pace: Pace) -> int:
    """An interval of environment steps as one of updates."""
    if interval % pace.collected:
        raise UserError(
            f"algo.target_update_interval: Tianshou counts updates, and {interval} steps are no whole number of them: "
            f"there is one every {pace.collected} steps"
        )
    return interval // pace.collected


def _exploration(spec: Spec, given: dict[str, Any]) -> Exploration | None:
    if "epsilon_start" not in given:
        return None
    end = given.get("epsilon_end", given["epsilon_start"])
    return Exploration(given["epsilon_start"], end, given.get("exploration_fraction", 0.0) * spec.total_timesteps)
