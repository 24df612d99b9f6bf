"""A spec in XuanCe's terms: its configuration, and the pace of its training."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.spec import Spec, hyperparameters, library_names

from xuance_worker import get_worker_metadata
from xuance_worker.algorithms import ALGORITHMS, Algorithm
from xuance_worker.native import check, defaults


@dataclass(frozen=True)
class Pace:
    """How a run goes on; in environment steps, summed over the environments, where nothing else is said."""

    num_envs: int
    chunk: int
    """Steps of each environment in a call of ``train``: a rollout; off-policy the whole run's.

    1 where networks are recurrent: an episode, however long.
    """
    total: int
    """Steps of the whole run: the budget, rounded down to whole rollouts."""
    train_interval: int
    """Steps between two updates."""


@dataclass(frozen=True)
class XuanCeConfig:
    """Everything that a run needs beside its spec."""

    spec: Spec
    algorithm: Algorithm
    pace: Pace
    settings: dict[str, Any]
    """XuanCe's configuration: its file for the algorithm, canonical hyperparameters translated, ``algo.native``."""

    @property
    def remembers(self) -> bool:
        """Whether what agents do follows from more than what they see at the moment."""
        return self.recurrent or self.algorithm.mean_field

    @property
    def recurrent(self) -> bool:
        """Whether the networks remember an episode."""
        return bool(self.settings.get("use_rnn"))

    @classmethod
    def from_spec(cls, spec: Spec) -> "XuanCeConfig":
        """Translate ``spec``.

        Raises:
            UserError: XuanCe has no such algorithm or hyperparameter, or cannot do what is asked of it.
        """
        names = library_names(spec, get_worker_metadata())
        algo, kind = spec.algo.name, Algorithm.kind(spec.env)
        algorithm = ALGORITHMS[algo]
        if kind not in algorithm.files:
            raise UserError(f"env: XuanCe's {algo} does not do {kind}")
        check(spec, kind)
        given = hyperparameters(spec)
        if not algorithm.on_policy and not algorithm.team:
            given = {"num_envs": 1, "train_interval": given.get("num_envs", 1), **given}
        base = {**defaults(algo, kind), **_plain(given, names)}
        recurrent = spec.algo.native.get("use_rnn", base.get("use_rnn", False))
        if recurrent and not algorithm.recurrent:
            raise UserError(f"algo.native.use_rnn: {algo} does not train recurrent networks in XuanCe")
        pace = _pace(spec, algorithm, {**base, "use_rnn": recurrent}, given)
        settings = {**base, **_converted(given, names, pace), **spec.algo.native, "running_steps": pace.total}
        return cls(spec, algorithm, pace, {**settings, "seed": spec.seed, "env_id": spec.env.id})

    def describe(self) -> dict[str, Any]:
        """What would run, as plain data; the checkpoint is read for it.

        Raises:
            UserError: the checkpoint is none, or another algorithm's.
        """
        described = {"env_id": self.spec.env.id, "pace": asdict(self.pace), "settings": self.settings}
        if not self.spec.resume.checkpoint:
            return described
        from xuance_worker.checkpoints import CHECKPOINTS  # imports torch

        return {**described, "checkpoint": CHECKPOINTS.describe(self.spec)}


def _targets(name: str, names: dict[str, str]) -> list[str]:
    """What XuanCe calls a canonical hyperparameter: one name, several, or none."""
    return names[name].split(", ") if name in names else []


def _plain(given: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Those that mean in XuanCe what they mean here."""
    return {
        target: value for name, value in given.items() if name not in _CONVERSIONS for target in _targets(name, names)
    }


def _converted(given: dict[str, Any], names: dict[str, str], pace: Pace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in _CONVERSIONS:
            found.update({target: _CONVERSIONS[name](value, target, pace) for target in _targets(name, names)})
    if "max_grad_norm" in given:
        found["use_grad_clip"] = True
    return found


def _pace(spec: Spec, algorithm: Algorithm, base: dict[str, Any], given: dict[str, Any]) -> Pace:
    num_envs, interval = base["parallels"], given.get("train_interval", base.get("training_frequency", 1))
    if algorithm.on_policy:
        horizon = given.get("rollout_steps") or base.get("horizon_size") or base["buffer_size"] // num_envs
        interval = horizon * num_envs
        if interval // base["n_minibatch"] == 0:
            raise UserError(f"algo.minibatches: {base['n_minibatch']} of a rollout of {interval} steps")
    else:
        horizon = spec.total_timesteps // num_envs
        _refuse_uneven("algo.train_interval", interval, num_envs)
        _refuse_uneven("algo.buffer_size", base["buffer_size"], num_envs)
    if base["use_rnn"]:
        horizon = 1  # one episode of each environment, however long
    unit = interval if algorithm.on_policy else num_envs
    if spec.total_timesteps < unit:
        raise UserError(
            f"total_timesteps: {spec.total_timesteps} is less than what {spec.algo.name} collects at a time, "
            f"{unit} steps"
        )
    return Pace(num_envs, horizon, spec.total_timesteps // unit * unit, interval)


def _refuse_uneven(key: str, value: int, num_envs: int) -> None:
    if value % num_envs:
        raise UserError(f"{key}: {value} is no multiple of the number of environments, {num_envs}")


def _annealed(value: bool, target: str, pace: Pace) -> Any:
    return value if target == "use_linear_lr_decay" else 1.0 - value


def _updates(value: int, target: str, pace: Pace) -> int:
    """An interval of environment steps as one of updates."""
    if value % pace.train_interval:
        raise UserError(
            f"algo.target_update_interval: XuanCe counts updates, and {value} steps are no whole number of them: "
            f"there is one every {pace.train_interval} steps"
        )
    return value // pace.train_interval


def _exploring(value: float, target: str, pace: Pace) -> int:
    """XuanCe lets epsilon fall by as much for each environment step as it says for a step of all of them."""
    return max(1, round(value * pace.total)) * pace.num_envs


_CONVERSIONS: dict[str, Callable[[Any, str, Pace], Any]] = {
    "anneal_learning_rate": _annealed,
    "rollout_steps": lambda value, target, pace: value * pace.num_envs if target == "buffer_size" else value,
    "target_update_interval": _updates,
    "exploration_fraction": _exploring,
}
"""Canonical hyperparameters that XuanCe counts in another unit: from value, XuanCe's name and pace."""
