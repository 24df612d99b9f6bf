"""XuanCe's own parameters: which there are, and their defaults."""

import importlib.util
from pathlib import Path
from typing import Any

import yaml
from mosaic_worker.spec import Spec, check_native

from xuance_worker import get_worker_metadata
from xuance_worker.algorithms import ALGORITHMS

RUN = {
    "dl_toolbox": "torch",
    "logger": "tensorboard",
    "render": False,
    "render_mode": "rgb_array",
    "device": "cpu",
    "distributed_training": False,
    "use_actions_mask": False,
    "use_obsnorm": False,
    "use_rewnorm": False,
}
"""What every run has in place of what the files say; the normalisations may be set by ``algo.native``."""

_FREE = ("use_obsnorm", "use_rewnorm")
_OF_THE_WORKER = (
    *(name for name in RUN if name not in _FREE),
    *("agent", "learner", "policy", "representation", "runner", "vectorize", "continuous_action"),
    *("env_name", "env_id", "env_seed", "seed", "running_steps", "eval_interval", "test_episode"),
    *("obs_type", "img_size", "num_stack", "frame_skip", "noop_max"),
    *("log_dir", "model_dir", "project_name", "wandb_user_name", "fps", "master_port", "clip_type", "policy_type"),
)
"""Parameters that the worker sets, or that belong to what it does in XuanCe's place."""


def defaults(algo: str, kind: str) -> dict[str, Any]:
    """XuanCe's configuration of ``algo`` for one kind of environment, before anything of the spec."""
    algorithm = ALGORITHMS[algo]
    configs = _configs()
    own = algorithm.settings.get(kind, {})
    return {**_read(configs / "basic.yaml"), **_read(configs / algorithm.files[kind]), **RUN, **own}


def check(spec: Spec, kind: str) -> None:
    """Refuse what XuanCe's configuration of the algorithm lacks.

    Raises:
        UserError: names the parameter.
    """
    check_native(spec, "XuanCe", _parameters(spec.algo.name, [kind]))


def native_parameters() -> dict[str, dict[str, Any]]:
    """The parameters of every algorithm; ``set_by`` marks those that a canonical hyperparameter sets."""
    return {algo: _parameters(algo, list(algorithm.files)) for algo, algorithm in ALGORITHMS.items()}


def _parameters(algo: str, kinds: list[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        for name, value in defaults(algo, kind).items():
            if name not in _OF_THE_WORKER and (name, value) != ("use_rnn", True):
                found[name] = {"type": type(value).__name__, "default": value, "help": ""}
    names: dict[str, str] = get_worker_metadata()["algorithms"][algo]["hyperparameters"]
    for canonical, targets in names.items():
        for name in targets.split(", "):
            if name in found:
                found[name]["set_by"] = f"algo.{canonical}"
    return dict(sorted(found.items()))


def _configs() -> Path:
    """XuanCe's configuration files, found without importing it."""
    package = importlib.util.find_spec("xuance")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "configs"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {name: float(value) if _is_number(value) else value for name, value in found.items()}


def _is_number(value: Any) -> bool:
    """YAML 1.1 reads ``1e-4`` as text."""
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False
