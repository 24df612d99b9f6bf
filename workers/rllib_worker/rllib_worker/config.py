"""A spec in RLlib's terms: what its configs are given, who samples and learns, and the pace of the training."""

from dataclasses import asdict, dataclass
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec, hyperparameters

from rllib_worker import get_worker_metadata

_FIXED: dict[str, Any] = {"normalize_advantage": True, "target_kl": None}
"""Canonical hyperparameters that RLlib has no name for, and what it does."""


@dataclass(frozen=True)
class Layout:
    """Who does the work; each env runner and each learner beyond the driver's own is a process of Ray's."""

    env_runners: int
    """0: the driver samples."""
    learners: int
    """0: the driver learns."""
    gpus_per_learner: int
    envs_per_runner: int


@dataclass(frozen=True)
class Pace:
    """In environment steps, summed over the environments."""

    collected: int
    """Steps that one iteration of RLlib takes at least; it may take a few more, up to one each environment."""
    total: int


@dataclass(frozen=True)
class RllibConfig:
    """Everything that a run needs beside its spec."""

    spec: Spec
    layout: Layout
    pace: Pace
    settings: dict[str, Any]
    """Arguments of the methods of RLlib's config, by its own names: canonical ones translated, and ``algo.native``."""
    clips_value_loss: bool
    """As PPO's authors do, which RLlib does not: see ``learners.py``."""

    @classmethod
    def from_spec(cls, spec: Spec) -> "RllibConfig":
        """Translate ``spec``.

        Raises:
            UserError: RLlib has no such algorithm or hyperparameter, or cannot do what is asked of it.
        """
        algorithm = get_worker_metadata()["algorithms"].get(spec.algo.name)
        if algorithm is None:
            raise UserError(f"algo.name: RLlib has no {spec.algo.name}")
        _refuse_missing_features(spec)
        given, names = hyperparameters(spec), algorithm["hyperparameters"]
        _refuse_unknown(spec.algo.name, given, names)
        layout = _layout(spec, given.get("num_envs", 1))
        pace = _pace(spec, given)
        settings = {
            **{names[name]: value for name, value in given.items() if name not in _COMPUTED and value is not None},
            **_computed(given, layout, pace),
            **spec.algo.native,
        }
        return cls(spec, layout, pace, settings, given.get("clip_value_loss", False))

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data; the checkpoint is read for it.

        Raises:
            UserError: the checkpoint is none, or another algorithm's.
        """
        described = {
            "env_id": self.spec.env.id,
            "layout": asdict(self.layout),
            "pace": asdict(self.pace),
            "settings": self.settings,
        }
        if not self.spec.resume.checkpoint:
            return described
        from rllib_worker.checkpoints import CHECKPOINTS  # imports torch

        return {**described, "checkpoint": CHECKPOINTS.describe(self.spec)}


_COMPUTED = (
    "learning_rate",
    "anneal_learning_rate",
    "num_envs",
    "rollout_steps",
    "minibatches",
    "clip_value_loss",
    *_FIXED,
)
"""Canonical hyperparameters that are no argument of RLlib's as they are."""


def _refuse_missing_features(spec: Spec) -> None:
    trains = spec.mode in ("train", "resume_training")
    for key, asked in {
        "tracking.wandb": spec.tracking.wandb and trains,
        "tracking.capture_video": spec.tracking.capture_video and trains,
        "eval.video": spec.eval.video and spec.mode == "policy_eval",
    }.items():
        if asked:
            raise UserError(f"{key}: the RLlib worker does not do that yet")


def _refuse_unknown(algo: str, given: dict[str, Any], names: dict[str, str]) -> None:
    for name, value in given.items():
        if name not in names:
            raise UserError(f"algo.{name}: RLlib's {algo} does not have it")
        if name in _FIXED and value != _FIXED[name]:
            raise UserError(f"algo.{name}: RLlib's {algo} does not have it; it does what {_FIXED[name]} would do")


def _layout(spec: Spec, num_envs: int) -> Layout:
    """One core: all in the driver. More: an env runner on each; while they sample, the learner waits."""
    runners = spec.resources.cpus if spec.resources.cpus > 1 else 0
    if num_envs % max(runners, 1):
        raise UserError(
            f"algo.num_envs: {num_envs} environments are not divided evenly among the {runners} env runners that "
            f"resources.cpus={spec.resources.cpus} makes"
        )
    gpus = spec.resources.gpus
    return Layout(runners, gpus if gpus > 1 else 0, min(gpus, 1), num_envs // max(runners, 1))


def _pace(spec: Spec, given: dict[str, Any]) -> Pace:
    collected = given.get("num_envs", 1) * given["rollout_steps"]
    if spec.total_timesteps < collected:
        raise UserError(
            f"total_timesteps: {spec.total_timesteps} is less than what {spec.algo.name} collects for one update, "
            f"{collected} steps"
        )
    return Pace(collected, spec.total_timesteps)


def _computed(given: dict[str, Any], layout: Layout, pace: Pace) -> dict[str, Any]:
    learners = max(layout.learners, 1)
    batch = pace.collected // learners
    if pace.collected % learners or batch < given.get("minibatches", 1):
        raise UserError(
            f"algo.minibatches: {given.get('minibatches', 1)} for each of {learners} learners, of a rollout of "
            f"{pace.collected} steps"
        )
    rate = given["learning_rate"]
    return {
        "lr": [[0, rate], [pace.total, 0.0]] if given.get("anneal_learning_rate") else rate,
        "train_batch_size_per_learner": batch,
        "minibatch_size": batch // given.get("minibatches", 1),
        "rollout_fragment_length": given["rollout_steps"],
    }
