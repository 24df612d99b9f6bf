"""A spec as the command line of a CleanRL script, and what this worker adds to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec, hyperparameters, trains

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.scripts import Parameters, find_script, scripts


@dataclass(frozen=True)
class CleanRLConfig:
    """Which script runs, with which arguments; everything else comes from the spec."""

    script: str
    arguments: tuple[str, ...]
    spec: Spec

    @classmethod
    def from_spec(cls, spec: Spec) -> "CleanRLConfig":
        """Translate ``spec``.

        Raises:
            UserError: no such script, or it lacks a hyperparameter.
        """
        script = find_script(spec.algo.name)
        known = _with_owners(spec.algo.name, script.parameters)
        flags = {**dict(_canonical(spec, known)), **dict(_native(spec, known))}
        _refuse_less_than_a_rollout(spec, {**{name: facts["default"] for name, facts in known.items()}, **flags})
        return cls(str(script.path), tuple(script.arguments(flags)), spec)

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data; the checkpoint is read for it.

        Raises:
            UserError: the checkpoint is none, or another algorithm's.
        """
        described = {"script": self.script, "arguments": self.arguments, "env_id": self.spec.env.id}
        if not self.spec.resume.checkpoint:
            return described
        from cleanrl_worker import checkpoints  # imports torch

        return {**described, "checkpoint": checkpoints.describe(self.spec)}


# What a script would be told twice: its flag, and the key of the spec that sets it.
_SPEC_KEYS = {
    "env-id": "env.id",
    "seed": "seed",
    "total-timesteps": "total_timesteps",
    "cuda": "resources.gpus",
    "capture-video": "tracking.capture_video",
    "track": "tracking.wandb",
    "wandb-project-name": "tracking.wandb_project",
    "wandb-entity": "tracking.wandb_entity",
}
_OF_THE_WORKER = ("network",)
"""Canonical hyperparameters that are no flag of a script."""


def native_parameters() -> dict[str, Parameters]:
    """The parameters of every installed script; ``set_by`` marks those that a key of the spec sets."""
    return {algo: _with_owners(algo, find_script(algo).parameters) for algo in scripts()}


def _with_owners(algo: str, parameters: Parameters) -> Parameters:
    owners = {**_SPEC_KEYS, **{flag: "algo." + name for name, flag in _canonical_flags(algo).items()}}
    return {
        flag: {**facts, **({"set_by": owners[flag]} if flag in owners else {})} for flag, facts in parameters.items()
    }


def _canonical_flags(algo: str) -> dict[str, str]:
    algorithm = get_worker_metadata()["algorithms"].get(algo, {})
    flags: dict[str, str] = algorithm.get("hyperparameters", {})
    return {name: flag for name, flag in flags.items() if name not in _OF_THE_WORKER}


def _canonical(spec: Spec, known: Parameters) -> Iterator[tuple[str, Any]]:
    of_the_spec = {
        "env-id": spec.env.id,
        "seed": spec.seed,
        "total-timesteps": spec.total_timesteps,
        "cuda": spec.resources.gpus > 0,
        "capture-video": spec.tracking.capture_video and trains(spec),
        "track": spec.tracking.wandb and trains(spec),
        "wandb-project-name": spec.tracking.wandb_project,
        "wandb-entity": spec.tracking.wandb_entity,
    }
    yield from ((flag, value) for flag, value in of_the_spec.items() if flag in known)
    flags = _canonical_flags(spec.algo.name)
    for name, value in hyperparameters(spec).items():
        if name in _OF_THE_WORKER:
            continue
        if flags.get(name) not in known:
            raise UserError(f"algo.{name}: CleanRL's {spec.algo.name} does not have it")
        yield flags[name], value


def _native(spec: Spec, known: Parameters) -> Iterator[tuple[str, Any]]:
    for name, value in spec.algo.native.items():
        flag = name.replace("_", "-")
        if flag not in known:
            raise UserError(f"algo.native.{name}: CleanRL's {spec.algo.name} has no such parameter")
        if "set_by" in known[flag]:
            raise UserError(f"algo.native.{name}: it is set by {known[flag]['set_by']}")
        yield flag, value


def _refuse_less_than_a_rollout(spec: Spec, values: dict[str, Any]) -> None:
    """On-policy scripts round the budget down to whole rollouts, and would end at once, having learned nothing."""
    rollout = values.get("num-envs", 1) * values.get("num-steps", 0)
    if spec.total_timesteps < rollout:
        raise UserError(
            f"total_timesteps: {spec.total_timesteps} is less than one rollout of {spec.algo.name}, "
            f"num_envs x rollout_steps = {rollout} steps"
        )
