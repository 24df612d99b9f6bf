"""Checkpoints of a running script: the networks, optimisers and learned tensors among its global names.

Format 1: a dict of plain containers and tensors, readable with ``torch.load(weights_only=True)``:
``format``, ``algo``, ``env_id``, ``env_steps``, ``modules`` and ``optimizers`` (state dicts by name), ``tensors``.
"""

from pathlib import Path
from typing import Any

import torch
from mosaic_worker.files import write_atomically

FORMAT = 1
_LEARNED_TENSORS = ("log_alpha",)  # SAC's entropy weight: a tensor of its own, in no module


def save(directory: Path, names: dict[str, Any], facts: dict[str, Any]) -> Path | None:
    """Write the state found in ``names`` (a script's globals) to ``step-<env_steps>.pt`` in ``directory``.

    None, and nothing is written, where the script was stopped before it had an optimiser.

    Args:
        directory: an existing directory.
        names: the script's global names.
        facts: ``algo``, ``env_id``, ``env_steps``.
    """
    state = {
        "format": FORMAT,
        **facts,
        "modules": _states(names, torch.nn.Module),
        "optimizers": _states(names, torch.optim.Optimizer),
        "tensors": {name: names[name].detach() for name in _LEARNED_TENSORS if name in names},
    }
    if not state["optimizers"]:
        return None
    path = directory / f"step-{facts['env_steps']}.pt"
    write_atomically(path, lambda file: torch.save(state, file))
    return path


def _states(names: dict[str, Any], kind: Any) -> dict[str, Any]:
    return {name: value.state_dict() for name, value in names.items() if isinstance(value, kind)}
