"""Reading ``spec.json``, the only thing that a worker is given."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Mapping

from mosaic_worker.errors import UserError
from mosaic_worker.protocol import SPEC_VERSION

Spec = SimpleNamespace
"""A spec as attributes: ``spec.env.id``, ``spec.seed``. ``algo.native``, ``env.kwargs`` and ``labels`` stay dicts."""

_PLAIN = ("native", "kwargs", "labels")


def load_spec(path: Path) -> Spec:
    """The spec at ``path``.

    Raises:
        UserError: not there, not JSON, not an object, or of a newer version than this kit knows.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SPEC_VERSION:
        raise UserError(f"{path}: schema_version is {version!r}, this worker reads {SPEC_VERSION}")
    spec: Spec = _namespace(data)
    return spec


def trains(spec: Spec) -> bool:
    """Whether ``spec`` asks for training at all."""
    return spec.mode in ("train", "resume_training")


def hyperparameters(spec: Spec) -> "dict[str, Any]":
    """The canonical hyperparameters that the spec sets, by name."""
    return {name: value for name, value in vars(spec.algo).items() if name not in ("name", "native")}


def library_names(spec: Spec, metadata: "Mapping[str, Any]") -> "dict[str, str]":
    """What the library calls the canonical hyperparameters of the spec's algorithm; those that it fixes are left out.

    Args:
        spec: a run's.
        metadata: the worker's capabilities.

    Raises:
        UserError: the spec's algorithm is not there, or lacks a hyperparameter that the spec sets.
    """
    worker, algo = metadata["worker_type"], spec.algo.name
    if algo not in metadata["algorithms"]:
        raise UserError(f"algo.name: {worker} has no {algo}")
    names: Mapping[str, str] = metadata["algorithms"][algo]["hyperparameters"]
    fixed = {name: json.loads(called[1:]) for name, called in names.items() if called.startswith("=")}
    for name, value in hyperparameters(spec).items():
        if name not in names or (name in fixed and value != fixed[name]):
            raise UserError(f"algo.{name}: {worker}'s {algo} does not have it")
    return {name: called for name, called in names.items() if name not in fixed}


def check_native(spec: Spec, library: str, known: "Mapping[str, Mapping[str, Any]]") -> None:
    """Refuse what ``algo.native`` holds and the library does not take from there.

    Args:
        spec: a run's.
        library: what messages call it.
        known: the algorithm's parameters, as ``native_parameters`` tells them.

    Raises:
        UserError: names the parameter.
    """
    for name in spec.algo.native:
        if name not in known:
            raise UserError(f"algo.native.{name}: {library}'s {spec.algo.name} has no such parameter")
        if "set_by" in known[name]:
            raise UserError(f"algo.native.{name}: it is set by {known[name]['set_by']}")


def _namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return Spec(**{key: item if key in _PLAIN else _namespace(item) for key, item in value.items()})
    if isinstance(value, list):
        return [_namespace(item) for item in value]
    return value
