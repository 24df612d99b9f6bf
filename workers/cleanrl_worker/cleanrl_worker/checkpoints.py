"""Checkpoint files: written by this worker (format 2), or models that upstream's ``--save-model`` wrote.

Format 2 is a dict of plain containers and tensors, read with ``torch.load(weights_only=True)``, which executes nothing:
beside what all workers' have, ``position`` in the training loop (null: it has none), ``elapsed`` seconds of training,
``modules`` and ``optimizers`` (state dicts by the script's names), ``values`` (its other state), ``random``
(generators), ``vectors`` (training environments), ``curriculum``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from mosaic_worker.errors import UserError
from mosaic_worker.rl import tensors
from mosaic_worker.rl.checkpoint_files import HEAD, CheckpointFiles
from mosaic_worker.spec import Spec

from cleanrl_worker import state

FORMAT = 2
CHECKPOINTS = CheckpointFiles("cleanrl", FORMAT)
_SPLIT = {"modules": "module", "optimizers": "optimizer"}


@dataclass(frozen=True)
class UpstreamModel:
    """Weights without anything else: what ``--save-model`` of an unmodified script leaves."""

    weights: dict[str, Any]


def parts_of(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The script's state, as :func:`cleanrl_worker.state.capture` gives it, in the parts that a checkpoint has."""
    parts: dict[str, dict[str, Any]] = {"modules": {}, "optimizers": {}, "values": {}}
    for name, value in values.items():
        kind = value.get("kind") if isinstance(value, dict) else None
        part = next((part for part, of_kind in _SPLIT.items() if of_kind == kind), None)
        parts[part or "values"][name] = value["state"] if part else value
    return parts


def load(path: Path, algo: str) -> "dict[str, Any] | UpstreamModel":
    """The checkpoint at ``path``; nothing in it is executed.

    Raises:
        UserError: not there, cut short, something else, of another algorithm, or a pickle with code in it.
    """
    found = _read(path)
    if isinstance(found, dict) and "format" in found:
        if found["format"] != FORMAT:
            raise UserError(f"{path}: a checkpoint of format {found['format']}, this worker reads {FORMAT}")
        if found["algo"] != algo:
            raise UserError(f"{path}: a checkpoint of {found['algo']}, and this run is {algo}")
        return found
    weights = found.get("model_weights", found) if isinstance(found, dict) else found
    if not isinstance(weights, dict) or not weights:
        raise UserError(f"{path}: holds a {type(found).__name__}, no checkpoint")
    return UpstreamModel(weights)


def load_for(spec: Spec) -> "dict[str, Any] | UpstreamModel | None":
    """The checkpoint that ``spec`` starts from; None: it starts from nothing."""
    return load(Path(spec.resume.checkpoint), spec.algo.name) if spec.resume.checkpoint else None


def describe(spec: Spec) -> dict[str, Any]:
    """What is in the checkpoint that ``spec`` starts from.

    Raises:
        UserError: it is none, or another algorithm's.
    """
    loaded = load_for(spec)
    path = spec.resume.checkpoint
    if isinstance(loaded, UpstreamModel):
        return {"path": path, "kind": "upstream model", "parameters": list(loaded.weights)}
    assert loaded is not None
    return {"path": path, **{name: loaded[name] for name in HEAD}}


def restore(names: dict[str, Any], values: dict[str, Any], path: Path) -> None:
    """Put the script's state ``values``, from the checkpoint at ``path``, into its ``names``.

    Raises:
        UserError: it is of another network, buffer, number of environments, …
    """
    try:
        state.restore(names, values)
    except ValueError as error:
        raise UserError(f"{path}: does not fit this run: {error}") from error


def restore_weights(names: dict[str, Any], model: UpstreamModel, path: Path) -> None:
    """Put upstream's weights into the networks of ``names`` that have these parameters.

    Raises:
        UserError: none has.
    """
    modules = [value for value in names.values() if isinstance(value, torch.nn.Module)]
    fitting = [module for module in modules if module.state_dict().keys() == model.weights.keys()]
    try:
        for module in fitting:
            module.load_state_dict(model.weights)
        fitted = bool(fitting) or _restore_flax_weights(names, model.weights)
    except (RuntimeError, ValueError, KeyError) as error:
        raise UserError(f"{path}: does not fit this run: {error}") from error
    if not fitted:
        raise UserError(f"{path}: a model of other networks than this script's: {', '.join(list(model.weights)[:3])} …")


def _restore_flax_weights(names: dict[str, Any], weights: dict[str, Any]) -> bool:
    if "q_state" not in names:
        return False
    from flax.serialization import from_state_dict

    q_state = names["q_state"]
    params = from_state_dict(q_state.params, weights)
    names["q_state"] = q_state.replace(params=params, target_params=params)
    return True


def script_state(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """The script's state in ``checkpoint``, for :func:`cleanrl_worker.state.restore`."""
    values = dict(checkpoint["values"])
    for part, kind in _SPLIT.items():
        values.update({name: {"kind": kind, "state": state} for name, state in checkpoint[part].items()})
    return values


def _read(path: Path) -> Any:
    try:
        return tensors.load(path)
    except tensors.NoTensors as error:
        return _read_flax(path, error)


def _read_flax(path: Path, torch_error: Exception) -> Any:
    """What upstream's JAX scripts write: msgpack of arrays."""
    try:
        from flax.serialization import msgpack_restore

        found = msgpack_restore(path.read_bytes())
    except Exception as error:  # the libraries' ways of saying "not mine" are many
        raise UserError(f"{path}: cut short, or no checkpoint: {torch_error}") from error
    return found
