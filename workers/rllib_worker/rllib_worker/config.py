"""A spec in RLlib's terms: what its configs are given, who samples and learns, and the pace of the training."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec, hyperparameters, library_names

from rllib_worker import get_worker_metadata


@dataclass(frozen=True)
class Layout:
    """Who does the work; each env runner and each learner beyond the driver's own is a process of Ray's."""

    env_runners: int
    """0: the driver samples."""
    learners: int
    """0: the driver learns."""
    gpus_per_learner: int
    envs_per_runner: int
    cpus_per_node: int
    """That Ray hands out, one for each process."""


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
    policies: str | None
    """Which agents share a policy; None: there is one agent."""
    buffer_size: int | None
    """Transitions that the replay buffer holds; None: there is none."""

    @classmethod
    def from_spec(cls, spec: Spec) -> "RllibConfig":
        """Translate ``spec``.

        Raises:
            UserError: RLlib has no such algorithm or hyperparameter, or cannot do what is asked of it.
        """
        given, names = hyperparameters(spec), library_names(spec, get_worker_metadata())
        layout = _layout(spec, given.get("num_envs", 1))
        on_policy = "rollout_steps" in names
        pace = _pace(spec, given, layout, on_policy=on_policy)
        settings = {
            **{
                names[name]: value
                for name, value in given.items()
                if name not in _COMPUTED and name in names and value is not None
            },
            **_learning_rate(given, pace),
            **(_on_policy(given, layout, pace) if on_policy else _off_policy(given, layout, pace)),
            **spec.algo.native,
        }
        clips = given.get("clip_value_loss", False)
        return cls(spec, layout, pace, settings, clips, _policies(spec, given), given.get("buffer_size"))

    def refilling(self, env_steps: int) -> "RllibConfig":
        """For a run that goes on after ``env_steps`` steps with an empty replay buffer: learning starts later."""
        if self.buffer_size is None:
            return self
        starts = min(env_steps + self.settings.get(_STARTS, 1000), self.pace.total)
        return replace(self, settings={**self.settings, _STARTS: starts})

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data; the checkpoint is read for it.

        Raises:
            UserError: the checkpoint is none, or another algorithm's.
        """
        described = {
            "env_id": self.spec.env.id,
            "layout": asdict(self.layout),
            "pace": asdict(self.pace),
            "policies": self.policies,
            "settings": self.settings,
        }
        if not self.spec.resume.checkpoint:
            return described
        from rllib_worker.checkpoints import CHECKPOINTS  # imports torch

        return {**described, "checkpoint": CHECKPOINTS.describe(self.spec)}


_BATCHES = {"impala": 500, "appo": 500}
"""RLlib's own batches for one learner, in steps, where they are not 4000."""
_STARTS = "num_steps_sampled_before_learning_starts"
_REPORTED = 100
"""Environment steps of an iteration, at least, where updates are many: between two, a run can be stopped."""
_ASYNCHRONOUS = ("impala", "appo")
"""Env runners sample while the learner learns."""
_COMPUTED = (
    "learning_rate",
    "anneal_learning_rate",
    "num_envs",
    "rollout_steps",
    "minibatches",
    "clip_value_loss",
    "policies",
    "buffer_size",
    "train_interval",
    "epsilon_start",
    "epsilon_end",
    "exploration_fraction",
)
"""Canonical hyperparameters that are no argument of RLlib's as they are."""


def _layout(spec: Spec, num_envs: int) -> Layout:
    """One core: all in the driver. More: an env runner on each; beside asynchronous ones, the learner keeps one."""
    nodes = spec.resources.nodes
    cpus, gpus = spec.resources.cpus * nodes, spec.resources.gpus * nodes
    runners = 0 if cpus == 1 else cpus - 1 if spec.algo.name in _ASYNCHRONOUS else cpus
    if num_envs % max(runners, 1):
        raise UserError(
            f"algo.num_envs: {num_envs} environments are not divided evenly among the {runners} env runners that "
            f"resources.cpus={spec.resources.cpus} makes{f' on each of {nodes} nodes' if nodes > 1 else ''}"
        )
    learners = gpus if gpus > 1 else 0
    slots = spec.resources.cpus + learners // nodes
    return Layout(runners, learners, min(gpus, 1), num_envs // max(runners, 1), slots)


def _pace(spec: Spec, given: dict[str, Any], layout: Layout, *, on_policy: bool) -> Pace:
    num_envs = max(layout.env_runners, 1) * layout.envs_per_runner
    collected = given.get("train_interval", num_envs)
    if on_policy:
        batch = _BATCHES.get(spec.algo.name, 4000) * max(layout.learners, 1)
        collected = num_envs * given["rollout_steps"] if "rollout_steps" in given else batch
    if collected % num_envs:
        raise UserError(f"algo.train_interval: {collected} is no multiple of algo.num_envs={num_envs}")
    if spec.total_timesteps < collected:
        raise UserError(
            f"total_timesteps: {spec.total_timesteps} is less than what {spec.algo.name} collects for one update, "
            f"{collected} steps"
        )
    return Pace(collected, spec.total_timesteps)


def _policies(spec: Spec, given: dict[str, Any]) -> str | None:
    several = getattr(spec.env, "agents", 1) > 1
    if "policies" in given and not several:
        raise UserError(f"algo.policies: {spec.env.id} has one agent, and one policy")
    return given.get("policies", "shared") if several else None


def _learning_rate(given: dict[str, Any], pace: Pace) -> dict[str, Any]:
    if "learning_rate" not in given:
        return {}
    rate = given["learning_rate"]
    return {"lr": [[0, rate], [pace.total, 0.0]] if given.get("anneal_learning_rate") else rate}


def _on_policy(given: dict[str, Any], layout: Layout, pace: Pace) -> dict[str, Any]:
    if "rollout_steps" not in given:
        return {}
    learners, minibatches = max(layout.learners, 1), given.get("minibatches", 1)
    batch = pace.collected // learners
    if pace.collected % learners or batch < minibatches:
        raise UserError(
            f"algo.minibatches: {minibatches} for each of {learners} learners, of a rollout of {pace.collected} steps"
        )
    sizes = {"train_batch_size_per_learner": batch, "rollout_fragment_length": given["rollout_steps"]}
    return {**sizes, "minibatch_size": batch // minibatches} if "minibatches" in given else sizes


def _off_policy(given: dict[str, Any], layout: Layout, pace: Pace) -> dict[str, Any]:
    """RLlib makes one update after each collection."""
    fragment = pace.collected // (max(layout.env_runners, 1) * layout.envs_per_runner)
    settings: dict[str, Any] = {
        "rollout_fragment_length": fragment,
        "min_sample_timesteps_per_iteration": max(pace.collected, _REPORTED),
    }
    if "epsilon_start" in given:
        falls = max(1, round(given.get("exploration_fraction", 0.0) * pace.total))
        settings["epsilon"] = [[0, given["epsilon_start"]], [falls, given.get("epsilon_end", given["epsilon_start"])]]
    return settings
