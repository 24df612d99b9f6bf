"""A spec as the command line of a CleanRL script."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec, hyperparameters

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.scripts import Parameters, parameters, script_path, scripts


@dataclass(frozen=True)
class CleanRLConfig:
    """Which script runs, with which arguments, on which environment."""

    script: str
    arguments: tuple[str, ...]
    env_id: str
    env_family: str
    env_kwargs: dict[str, Any]
    tensorboard: bool

    @classmethod
    def from_spec(cls, spec: Spec) -> "CleanRLConfig":
        """Translate ``spec``.

        Raises:
            UserError: no such script, or it lacks a hyperparameter.
        """
        known = known_parameters(spec.algo.name)
        flags = {**dict(_canonical(spec)), **dict(_native(spec, known))}
        _refuse_less_than_a_rollout(spec, {**{name: facts["default"] for name, facts in known.items()}, **flags})
        return cls(
            script=str(script_path(spec.algo.name)),
            arguments=tuple(_argument(flag, value) for flag, value in flags.items() if value is not None),
            env_id=spec.env.id,
            env_family=spec.env.family,
            env_kwargs=spec.env.kwargs,
            tensorboard=spec.tracking.tensorboard,
        )

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data."""
        return asdict(self)


# What a script would be told twice: its flag, and the key of the spec that sets it.
_SPEC_KEYS = {
    "env-id": "env.id",
    "seed": "seed",
    "total-timesteps": "total_timesteps",
    "cuda": "resources.gpus",
}


def native_parameters() -> dict[str, Parameters]:
    """The parameters of every installed script; ``set_by`` marks those that a key of the spec sets."""
    return {algo: known_parameters(algo) for algo in scripts()}


def known_parameters(algo: str) -> Parameters:
    """The parameters of the script ``algo``; ``set_by`` marks those that a key of the spec sets."""
    canonical = get_worker_metadata()["algorithms"].get(algo, {}).get("hyperparameters", {})
    owners = {**_SPEC_KEYS, **{flag: "algo." + name for name, flag in canonical.items()}}
    known = parameters(script_path(algo))
    return {flag: {**facts, **({"set_by": owners[flag]} if flag in owners else {})} for flag, facts in known.items()}


def _canonical(spec: Spec) -> Iterator[tuple[str, Any]]:
    yield "env-id", spec.env.id
    yield "seed", spec.seed
    yield "total-timesteps", spec.total_timesteps
    yield "cuda", spec.resources.gpus > 0
    names = get_worker_metadata()["algorithms"][spec.algo.name]["hyperparameters"]
    for name, value in hyperparameters(spec).items():
        if name not in names:
            raise UserError(f"algo.{name}: CleanRL's {spec.algo.name} does not have it")
        yield names[name], value


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


def _argument(flag: str, value: Any) -> str:
    """``--flag=value`` in one word, so that a negative number is not taken for a flag."""
    return f"--{flag}={value}"
