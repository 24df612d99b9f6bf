"""RunSpec: everything that a run is, as frozen typed structs.

This is the one definition. ``spec.json``, the JSON Schema file and every check of a composed config come from it.
Units: steps are environment steps summed over parallel environments, times are seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

SCHEMA_VERSION = 1

Mode = Literal["train", "resume_training", "policy_eval", "collect", "interactive"]
Source = Literal["pypi", "path", "git"]
Network = Literal["auto", "library", "minigrid_cnn", "mlp"]
ActionSpace = Literal["discrete", "continuous", "multi_discrete", "multi_binary"]
ObservationSpace = Literal["vector", "image", "discrete", "dict"]

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
PositiveInt = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
PositiveFloat = Annotated[float, Meta(gt=0)]
NonNegativeFloat = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]


class _Frozen(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every part of a spec: immutable, and an unknown key is an error."""


class RayChoice(_Frozen, frozen=True):
    """Which Ray a worker that needs one uses."""

    address: str | None = None
    """Of a cluster that is there, as ``host:port``; null: the run starts its own on this machine, and ends it."""


class WorkerChoice(_Frozen, frozen=True):
    """Which worker, with which source of its library, and in which interpreter."""

    name: Name
    python: str | None = None
    """Path of a Python that the user made; null: the worker's own virtualenv, made at first use."""
    source: Source = "pypi"
    """Where the library comes from: the released package, a checkout at ``path``, a ``commit`` of ``repository``."""
    path: str | None = None
    repository: str | None = None
    commit: str | None = None
    script: str | None = None
    """Path of the user's script, for a worker that runs one. Taken from a command line only, never from a config."""
    ray: RayChoice | UnsetType = UNSET


class AlgoSpec(_Frozen, frozen=True):
    """An algorithm by its canonical name, with canonical hyperparameters.

    A hyperparameter that is not set is not part of the spec: the library's own default holds. Which ones an
    algorithm takes is the worker's to say; one that it lacks is refused. ``native`` goes to the library as it is.
    """

    name: Name
    native: dict[str, Any] = {}

    network: Network | UnsetType = UNSET
    """``library``: the one that the library builds; ``auto``: the worker's choice for the environment."""
    policies: Literal["shared", "independent", "by_group"] | UnsetType = UNSET
    """Where several agents act: one policy for all, one for each, or one for all whose names differ by a number."""
    # Optimisation
    learning_rate: PositiveFloat | UnsetType = UNSET
    """Step size of the optimiser."""
    actor_learning_rate: PositiveFloat | UnsetType = UNSET
    """Step size of the policy's optimiser, where there are two."""
    critic_learning_rate: PositiveFloat | UnsetType = UNSET
    """Step size of the value functions' optimiser, where there are two."""
    anneal_learning_rate: bool | UnsetType = UNSET
    """Whether the learning rate falls linearly to 0 over the budget."""
    max_grad_norm: PositiveFloat | UnsetType = UNSET
    """Gradients longer than this (Euclidean norm) are scaled down to it."""
    batch_size: PositiveInt | UnsetType = UNSET
    """Transitions in a batch that is drawn from the replay buffer, or from a dataset."""
    updates: PositiveInt | UnsetType = UNSET
    """Budget of an algorithm that learns from a dataset alone, a batch each; it takes no environment steps."""
    # Return
    gamma: Fraction | UnsetType = UNSET
    """Discount factor of an environment step."""
    gae_lambda: Fraction | UnsetType = UNSET
    """Lambda of generalised advantage estimation."""
    # On-policy rollouts: rollout_steps are steps of each parallel environment
    num_envs: PositiveInt | UnsetType = UNSET
    """Parallel copies of the environment."""
    rollout_steps: PositiveInt | UnsetType = UNSET
    """Environment steps of each copy between two updates."""
    minibatches: PositiveInt | UnsetType = UNSET
    """Parts that a rollout is split into for the steps of the optimiser."""
    update_epochs: PositiveInt | UnsetType = UNSET
    """Passes over a rollout in one update."""
    # Policy gradient losses
    clip_coef: PositiveFloat | UnsetType = UNSET
    """How far the policy's probability ratio may be from 1 (PPO)."""
    clip_value_loss: bool | UnsetType = UNSET
    """Whether the value loss is clipped as the policy loss is."""
    normalize_advantage: bool | UnsetType = UNSET
    """Whether advantages have mean 0 and deviation 1 in each minibatch."""
    ent_coef: NonNegativeFloat | UnsetType = UNSET
    """Weight of the policy's entropy in the loss."""
    vf_coef: NonNegativeFloat | UnsetType = UNSET
    """Weight of the value loss."""
    target_kl: PositiveFloat | UnsetType | None = UNSET
    """KL divergence from the old policy that bounds or ends an update; null: none."""
    # Off-policy: intervals are in environment steps
    buffer_size: PositiveInt | UnsetType = UNSET
    """Transitions that the replay buffer holds."""
    learning_starts: Natural | UnsetType = UNSET
    """Environment steps before the first update."""
    train_interval: PositiveInt | UnsetType = UNSET
    """Environment steps between two updates."""
    target_update_interval: PositiveInt | UnsetType = UNSET
    """Environment steps between two updates of the target networks; updates, where no environment steps are taken."""
    tau: Fraction | UnsetType = UNSET
    """How far the target networks move at an update; 1: a copy."""
    # Exploration
    epsilon_start: Fraction | UnsetType = UNSET
    """Probability of a random action at the start."""
    epsilon_end: Fraction | UnsetType = UNSET
    """Probability of a random action after the exploration."""
    exploration_fraction: Fraction | UnsetType = UNSET
    """Part of the budget over which epsilon falls linearly."""
    exploration_noise: NonNegativeFloat | UnsetType = UNSET
    """Deviation of the Gaussian noise on actions, in units of the action scale."""
    # Categorical return distribution (C51)
    num_atoms: PositiveInt | UnsetType = UNSET
    """Points of the return's distribution."""
    v_min: float | UnsetType = UNSET
    """Lowest return of the distribution."""
    v_max: float | UnsetType = UNSET
    """Highest return of the distribution."""
    # Deterministic and soft actor-critic
    policy_update_interval: PositiveInt | UnsetType = UNSET
    """Updates of the value functions for one of the policy."""
    target_policy_noise: NonNegativeFloat | UnsetType = UNSET
    """Deviation of the noise on the target policy's actions."""
    target_noise_clip: NonNegativeFloat | UnsetType = UNSET
    """Bound of that noise."""
    entropy_alpha: NonNegativeFloat | UnsetType = UNSET
    """Weight of the entropy in the return, where it is not learned."""
    autotune_alpha: bool | UnsetType = UNSET
    """Whether that weight is learned."""

    def hyperparameters(self) -> dict[str, bool | int | float | None]:
        """The canonical hyperparameters that are set, by name."""
        fields = (f for f in self.__struct_fields__ if f not in ("name", "native"))
        return {f: value for f in fields if (value := getattr(self, f)) is not UNSET}


class EnvSpec(_Frozen, frozen=True):
    """An environment by its registered id; the spaces are declared so that a misfit is seen before anything starts."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    family: Name
    action_space: ActionSpace
    observation_space: ObservationSpace
    agents: PositiveInt | UnsetType = UNSET
    """How many agents act in it at the same time, where it is more than one; the spaces are those of each."""
    kwargs: dict[str, Any] = {}
    """Keyword arguments of the environment's constructor."""


METRICS = ("steps", "episodes", "episode_return", "total_steps", "total_episodes")
CLAUSE = rf"({'|'.join(METRICS)})(>=|<=|>|<|=)-?\d+(\.\d+)?"
Condition = Annotated[str, Meta(pattern=rf"^{CLAUSE}([|&]{CLAUSE})*$")]
"""Clauses joined by ``|`` and ``&``, which binds tighter. Counters are of the stage, ``total_`` ones of the run; they
count finished episodes and their steps; ``episode_return`` is a mean over the stage's last 100 (the first stage: 1000)
episodes."""


class Stage(_Frozen, frozen=True):
    """One stage of a curriculum: an environment, and the condition that ends it; the last stage is open."""

    env_id: Annotated[str, Meta(min_length=1, max_length=200)]
    until: Condition | None = None


class CurriculumSpec(_Frozen, frozen=True):
    """Environments to train on one after the other; no stages: no curriculum."""

    stages: tuple[Stage, ...] = ()


class CheckpointSpec(_Frozen, frozen=True):
    """Checkpoints while training; there is always one at the end."""

    interval: PositiveInt | None = 50_000
    """Environment steps between two, or updates where none are taken; null: only at the end."""
    keep: PositiveInt = 2
    """How many of the newest are kept."""
    replay_buffer_mb: Natural = 1024
    """A replay buffer of more MiB than this is left out, and filled anew after resuming."""


class ResumeSpec(_Frozen, frozen=True):
    """The checkpoint that a run starts from; what the user names becomes an absolute path and its sha256."""

    run: str | None = None
    checkpoint: str | None = None
    sha256: str | None = None


class DatasetSpec(_Frozen, frozen=True):
    """Recorded steps to learn from; what the user names becomes an absolute path and the sha256 of what is there."""

    run: str | None = None
    path: str | None = None
    sha256: str | None = None


class CollectSpec(_Frozen, frozen=True):
    """What ``mode=collect`` records; ``eval.deterministic`` and ``eval.max_episode_steps`` say how it is played."""

    steps: PositiveInt = 10_000
    """Environment steps."""


class EvalSpec(_Frozen, frozen=True):
    """What ``mode=policy_eval`` plays, and what is played to see how far learning from a dataset is."""

    episodes: PositiveInt = 10
    batch_size: PositiveInt = 10
    """Episodes that are played side by side."""
    repeat: PositiveInt = 1
    """How often all of it is played, with other seeds."""
    gamma: Fraction = 0.99
    """Discount factor of the discounted return, which is reported beside the plain one."""
    deterministic: bool = True
    """False: actions are drawn from the policy, as in training."""
    max_episode_steps: PositiveInt | None = None
    """An episode is cut after this many steps; null: only by the environment itself."""
    video: bool = False
    """Record the first episode of each repetition as mp4."""
    interval: PositiveInt | None = None
    """Learning from a dataset: updates between two evaluations; null: only at the end."""


class TrackingSpec(_Frozen, frozen=True):
    """Where the library's own logging goes. The key of W&B stays in the environment: ``WANDB_API_KEY``."""

    tensorboard: bool = True
    wandb: bool = False
    wandb_project: str = "mosaic-pipe"
    wandb_entity: str | None = None
    capture_video: bool = False
    """Videos of training episodes, as the library makes them."""


class FastlaneSpec(_Frozen, frozen=True):
    """Live frames. They cost nothing while nobody watches, and change no result."""

    mode: Literal["grid", "single", "off"] = "grid"
    """All environments side by side, the one at ``slot``, or none."""
    interval_ms: NonNegativeFloat = 33.0
    """Milliseconds from a frame to the next at least, in each environment."""
    max_dim: Annotated[int, Meta(ge=16, le=4096)] = 640
    """Pixels of a frame's longer side at most; larger ones are scaled down."""
    grid_limit: Annotated[int, Meta(ge=1, le=64)] = 9
    """Environments of a grid at most: the first ones that step."""
    slot: Annotated[int, Meta(ge=0, le=63)] = 0
    """Which environment ``single`` shows, in the order of their first steps."""


class Resources(_Frozen, frozen=True):
    """What a run may use, and when it is taken for dead. Times in seconds."""

    nodes: PositiveInt = 1
    """Of a Slurm cluster; CPUs, GPUs and memory are those of each."""
    cpus: PositiveInt = 1
    gpus: Natural = 0
    memory_mb: PositiveInt | None = None
    """null: what the worker takes its needs to be."""
    time_limit: PositiveFloat | None = None
    heartbeat_interval: PositiveFloat = 10.0
    heartbeat_timeout: PositiveFloat = 300.0
    stop_grace: NonNegativeFloat = 30.0


class RunSpec(_Frozen, frozen=True, kw_only=True):
    """One run. Written as ``spec.json``, the only thing that a worker is given."""

    schema_version: Annotated[int, Meta(ge=1, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    run_id: Annotated[str, Meta(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
    worker: WorkerChoice
    algo: AlgoSpec
    env: EnvSpec
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)]
    total_timesteps: PositiveInt
    mode: Mode = "train"
    resume: ResumeSpec = ResumeSpec()
    dataset: DatasetSpec = DatasetSpec()
    checkpoint: CheckpointSpec = CheckpointSpec()
    curriculum: CurriculumSpec = CurriculumSpec()
    eval: EvalSpec = EvalSpec()
    collect: CollectSpec = CollectSpec()
    tracking: TrackingSpec = TrackingSpec()
    fastlane: FastlaneSpec = FastlaneSpec()
    resources: Resources = Resources()
    sweep: Name | None = None
    labels: dict[str, str] = {}

    def title(self) -> str:
        """What runs, in a few words."""
        what = Path(self.worker.script).name if self.worker.script else self.algo.name
        mode = "" if self.mode == "train" else f"{self.mode}: "
        return f"{mode}{self.worker.name} {what} on {self.env.id}, seed {self.seed}"
