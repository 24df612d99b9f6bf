"""The process's random number generators, as plain data and back."""

import random
from typing import Any, Dict

import numpy as np
import torch


def capture() -> Dict[str, Any]:
    """The states of Python's, NumPy's and torch's generators."""
    version, words, gauss = random.getstate()
    state: Any = np.random.get_state(legacy=True)  # as types, an older kind of state is possible too
    name, keys, position, has_gauss, cached = state
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, torch.from_numpy(keys.astype(np.int64)), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore(saved: Dict[str, Any]) -> None:
    """Set the generators to what :func:`capture` gave."""
    version, words, gauss = saved["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = saved["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(saved["torch"])
    if saved["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(saved["cuda"])


def plain(value: Any) -> Any:
    """A bit generator's state: dictionaries of integers, some of 128 bits, and of arrays."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return torch.from_numpy(value.astype(np.int64)) if isinstance(value, np.ndarray) else value


def unplain(value: Any) -> Any:
    """What :func:`plain` was given."""
    if isinstance(value, dict):
        return {key: unplain(item) for key, item in value.items()}
    return (
        value.numpy().astype(np.uint64 if len(value) < 624 else np.uint32) if isinstance(value, torch.Tensor) else value
    )
