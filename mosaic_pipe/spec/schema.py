"""RunSpec: everything that a run is, as frozen typed structs.

This is the one definition. ``spec.json``, the JSON Schema file and every check of a composed config come from it.
Units: steps are environment steps summed over parallel environments, times are seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

SCHEMA_VERSION = 1

Mode = Literal["train", "resume_training", "policy_eval", "interactive"]
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


class WorkerChoice(_Frozen, frozen=True):
    """Which worker, and in which interpreter."""

    name: Name
    python: str | None = None
    """Path of a Python that the user made; null: the worker's own virtualenv, made at first use."""
    script: str | None = None
    """Path of the user's script, for a worker that runs one. Taken from a command line only, never from a config."""


class AlgoSpec(_Frozen, frozen=True):
    """An algorithm by its canonical name, with canonical hyperparameters.

    A hyperparameter that is not set is not part of the spec: the library's own default holds. Which ones an
    algorithm takes is the worker's to say; one that it lacks is refused. ``native`` goes to the library as it is.
    """

    name: Name
    native: dict[str, Any] = {}

    # Optimisation
    learning_rate: PositiveFloat | UnsetType = UNSET
    actor_learning_rate: PositiveFloat | UnsetType = UNSET
    critic_learning_rate: PositiveFloat | UnsetType = UNSET
    anneal_learning_rate: bool | UnsetType = UNSET
    max_grad_norm: PositiveFloat | UnsetType = UNSET
    batch_size: PositiveInt | UnsetType = UNSET
    # Return
    gamma: Fraction | UnsetType = UNSET
    gae_lambda: Fraction | UnsetType = UNSET
    # On-policy rollouts: rollout_steps are steps of each parallel environment
    num_envs: PositiveInt | UnsetType = UNSET
    rollout_steps: PositiveInt | UnsetType = UNSET
    minibatches: PositiveInt | UnsetType = UNSET
    update_epochs: PositiveInt | UnsetType = UNSET
    # Policy gradient losses
    clip_coef: PositiveFloat | UnsetType = UNSET
    clip_value_loss: bool | UnsetType = UNSET
    normalize_advantage: bool | UnsetType = UNSET
    ent_coef: NonNegativeFloat | UnsetType = UNSET
    vf_coef: NonNegativeFloat | UnsetType = UNSET
    target_kl: PositiveFloat | UnsetType | None = UNSET
    # Off-policy: intervals are in environment steps
    buffer_size: PositiveInt | UnsetType = UNSET
    learning_starts: Natural | UnsetType = UNSET
    train_interval: PositiveInt | UnsetType = UNSET
    target_update_interval: PositiveInt | UnsetType = UNSET
    tau: Fraction | UnsetType = UNSET
    # Exploration
    epsilon_start: Fraction | UnsetType = UNSET
    epsilon_end: Fraction | UnsetType = UNSET
    exploration_fraction: Fraction | UnsetType = UNSET
    exploration_noise: NonNegativeFloat | UnsetType = UNSET
    # Categorical return distribution (C51)
    num_atoms: PositiveInt | UnsetType = UNSET
    v_min: float | UnsetType = UNSET
    v_max: float | UnsetType = UNSET
    # Deterministic and soft actor-critic
    policy_update_interval: PositiveInt | UnsetType = UNSET
    target_policy_noise: NonNegativeFloat | UnsetType = UNSET
    target_noise_clip: NonNegativeFloat | UnsetType = UNSET
    entropy_alpha: NonNegativeFloat | UnsetType = UNSET
    autotune_alpha: bool | UnsetType = UNSET

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
    kwargs: dict[str, Any] = {}
    """Keyword arguments of the environment's constructor."""


class Stage(_Frozen, frozen=True):
    """One stage of a curriculum; the last one is open and needs no condition."""

    env_id: str
    until: str | None = None


class CurriculumSpec(_Frozen, frozen=True):
    """Environments to train on one after the other; no stages: no curriculum."""

    stages: tuple[Stage, ...] = ()


class EvalSpec(_Frozen, frozen=True):
    """Evaluation of the trained policy; 0 episodes: none."""

    episodes: Natural = 0


class TrackingSpec(_Frozen, frozen=True):
    """Where the library's own logging goes."""

    tensorboard: bool = True


class FastlaneSpec(_Frozen, frozen=True):
    """Live frames."""

    mode: Literal["off"] = "off"


class Resources(_Frozen, frozen=True):
    """What a run may use, and when it is taken for dead. Times in seconds."""

    cpus: PositiveInt = 1
    gpus: Natural = 0
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
    curriculum: CurriculumSpec = CurriculumSpec()
    eval: EvalSpec = EvalSpec()
    tracking: TrackingSpec = TrackingSpec()
    fastlane: FastlaneSpec = FastlaneSpec()
    resources: Resources = Resources()
    sweep: Name | None = None
    labels: dict[str, str] = {}

    def title(self) -> str:
        """What runs, in a few words."""
        what = Path(self.worker.script).name if self.worker.script else self.algo.name
        return f"{self.worker.name} {what} on {self.env.id}, seed {self.seed}"
