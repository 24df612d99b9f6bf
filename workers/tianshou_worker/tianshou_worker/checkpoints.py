"""Checkpoint files: a dict of plain containers and tensors, read with ``torch.load(weights_only=True)``.

``format``, ``library`` (tianshou), ``algo``, ``env_id``, ``env_steps``, ``algorithm`` (networks, optimisers, …),
``buffer``, ``environments`` (what each went through since its last reset), ``random`` (generators).
"""

from pathlib import Path
from typing import Any

import torch
from mosaic_worker.errors import UserError
from mosaic_worker.files import write_atomically
from mosaic_worker.rl.tensors import NoTensors
from mosaic_worker.rl.tensors import load as load_tensors
from mosaic_worker.spec import Spec

FORMAT = 1


def save(directory: Path, facts: dict[str, Any]) -> Path:
    """Write ``step-<env_steps>.pt`` into ``directory``, atomically; ``facts``: everything but the format."""
    path = directory / f"step-{facts['env_steps']}.pt"
    write_atomically(path, lambda file: torch.save({"format": FORMAT, "library": "tianshou", **facts}, file))
    return path


def load(path: Path, algo: str) -> dict[str, Any]:
    """The checkpoint at ``path``; nothing in it is executed.

    Raises:
        UserError: not there, cut short, something else, of another algorithm, or a pickle with code in it.
    """
    try:
        found = load_tensors(path)
    except NoTensors as error:
        raise UserError(f"{path}: cut short, or no checkpoint: {error}") from error
    if not isinstance(found, dict) or found.get("library") != "tianshou":
        raise UserError(f"{path}: no checkpoint of this worker")
    if found["format"] != FORMAT:
        raise UserError(f"{path}: a checkpoint of format {found['format']}, this worker reads {FORMAT}")
    if found["algo"] != algo:
        raise UserError(f"{path}: a checkpoint of {found['algo']}, and this run is {algo}")
    return found


def load_for(spec: Spec) -> dict[str, Any] | None:
    """The checkpoint that ``spec`` starts from; None: it starts from nothing."""
    return load(Path(spec.resume.checkpoint), spec.algo.name) if spec.resume.checkpoint else None


def describe(spec: Spec) -> dict[str, Any]:
    """What is in the checkpoint that ``spec`` starts from.

    Raises:
        UserError: it is none, or another algorithm's.
    """
    loaded = load(Path(spec.resume.checkpoint), spec.algo.name)
    return {
        "path": spec.resume.checkpoint,
        **{name: loaded[name] for name in ("format", "algo", "env_id", "env_steps")},
    }
