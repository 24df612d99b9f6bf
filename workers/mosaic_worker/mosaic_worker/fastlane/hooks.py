"""Waiting for the libraries that make environments; what is done to them is in ``making``, which costs more to import."""

import functools
import importlib
from typing import Any

from mosaic_worker.imports import when_imported

_MODULES = {
    "gymnasium.envs.registration": "registration",
    "gym.envs.registration": "registration",
    "pettingzoo.": "pettingzoo",
    "mpe2.": "pettingzoo",
    "envpool.registration": "envpool",
    "procgen.env": "procgen",
}


def install() -> None:
    """Have each of them treated when the program imports it; imports none of them."""
    for module, treatment in _MODULES.items():
        when_imported(module, functools.partial(_treat, treatment))


def _treat(treatment: str, module: Any) -> None:
    try:
        getattr(importlib.import_module("mosaic_worker.fastlane.making"), treatment)(module)
    except Exception:  # noqa: S110 - the program goes on without live frames
        pass
