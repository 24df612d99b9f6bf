"""What a worker can do, as its package's ``capabilities.json`` says; read without importing the worker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.spec.schema import ActionSpace, Mode, Name, ObservationSpace, RunSpec, Source

Feature = Literal["curriculum", "eval_video", "gpu", "several_nodes", "training_video", "wandb"]

FILE_NAME = "capabilities.json"


class Algorithm(Struct, frozen=True, forbid_unknown_fields=True):
    """One algorithm of a worker."""

    action_spaces: tuple[ActionSpace, ...]
    observation_spaces: tuple[ObservationSpace, ...]
    hyperparameters: dict[str, str] = {}
    """Canonical hyperparameters that it takes, and what the library calls each.

    ``=VALUE`` (JSON): the library does what that value would do, and takes no other; empty: the worker sees to it.
    """
    env_families: tuple[str, ...] | None = None
    """Families that it is made for; null: all of the worker's."""
    sources: tuple[Source, ...] = ("pypi", "path", "git")
    """Sources of the library that have it."""
    extras: tuple[str, ...] = ()
    """Extras of the worker's package that it needs."""
    modes: tuple[Mode, ...] | None = None
    """null: all of the worker's."""
    min_agents: Annotated[int, Meta(ge=1)] = 1
    """2: it trains several agents together, and is nothing for one alone."""
    max_agents: Annotated[int, Meta(ge=1)] | None = None
    """null: as many as the worker."""
    curriculum: bool = False
    """Whether its environment may change while it trains."""
    dataset: bool = False
    """Whether it learns from a dataset, alone (``updates`` is its budget then) or beside its environment."""
    verified: str | None = None
    """The environment that it was last seen to train on."""
    unavailable: str | None = None
    """Why it cannot run at all."""


class Capabilities(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The static description of a worker; memory in MiB."""

    schema_version: Annotated[int, Meta(ge=1, le=1)]
    worker_type: Name
    package: str
    description: str
    upstream_library: str
    upstream_version: str
    license: str
    supported_paradigms: tuple[str, ...]
    env_families: tuple[str, ...]
    """Families of environments; ``*``: any."""
    action_spaces: tuple[ActionSpace, ...]
    observation_spaces: tuple[ObservationSpace, ...]
    max_agents: Annotated[int, Meta(ge=1)]
    modes: tuple[Mode, ...]
    sources: tuple[Source, ...] = ("pypi",)
    """Where the library may come from: the released package, a user's checkout, a commit."""
    family_extras: dict[str, tuple[str, ...]] = {}
    """Extras of the worker's package that a family of environments needs."""
    features: dict[Feature, tuple[str, ...]] = {}
    """What it does beyond training on CPUs, and the extras of its package that this needs; nothing else is asked of it.
    """
    preload: tuple[str, ...] = ()
    """Modules that its runs import, and that a sweep may import once for all of them: they start no thread and read no
    file of a run."""
    takes_script: bool = False
    """It runs a script of the user, named by ``worker.script``."""
    supports_checkpointing: bool
    requires_gpu: bool
    estimated_memory_mb: int
    algorithms: dict[str, Algorithm]


def wanted_features(spec: RunSpec) -> dict[Feature, str]:
    """The features that ``spec`` asks for, and by which key."""
    learns = spec.mode in ("train", "resume_training")
    evaluates = spec.mode == "policy_eval" or (learns and spec.algo.updates is not UNSET)
    asked: dict[Feature, tuple[bool, str]] = {
        "curriculum": (bool(spec.curriculum.stages), "curriculum.stages"),
        "eval_video": (spec.eval.video and evaluates, "eval.video"),
        "gpu": (spec.resources.gpus > 0, "resources.gpus"),
        "several_nodes": (spec.resources.nodes > 1, "resources.nodes"),
        "training_video": (spec.tracking.capture_video and learns, "tracking.capture_video"),
        "wandb": (spec.tracking.wandb and learns, "tracking.wandb"),
    }
    return {feature: key for feature, (wanted, key) in asked.items() if wanted}


def needed_extras(spec: RunSpec, worker: Capabilities) -> tuple[str, ...]:
    """The extras of the worker's package that ``spec`` needs, sorted."""
    wanted = [worker.algorithms[spec.algo.name].extras, worker.family_extras.get(spec.env.family, ())]
    wanted += [worker.features.get(feature, ()) for feature in wanted_features(spec)]
    return tuple(sorted({extra for extras in wanted for extra in extras}))


def known_extras(worker: Capabilities) -> set[str]:
    """Every extra of the worker's package that something needs."""
    groups = [*worker.family_extras.values(), *worker.features.values()]
    groups += [algorithm.extras for algorithm in worker.algorithms.values()]
    return {extra for extras in groups for extra in extras}


class Description(Struct, frozen=True):
    """What ``python -m <worker>.cli --describe`` prints from inside the worker's environment."""

    python: str
    """Version of the interpreter."""
    capabilities: Capabilities
    native_parameters: dict[str, dict[str, dict[str, Any]]]
    """By algorithm and name: ``type``, ``default``, ``help``, and ``set_by`` where a key of the spec sets it."""


def read_capabilities(path: Path) -> Capabilities:
    """The capabilities in the file at ``path``.

    Raises:
        UserError: not there, or not as the schema says.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Capabilities)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except msgspec.DecodeError as error:
        raise UserError(f"not a description of a worker: {error}", where=str(path)) from error
