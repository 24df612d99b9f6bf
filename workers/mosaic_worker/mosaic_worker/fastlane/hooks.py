"""Waiting for the libraries that make environments. What is done to them is in ``making``, imported with the first."""

from __future__ import annotations

import contextlib
import functools
import importlib

from mosaic_worker.imports import when_imported

TYPE_CHECKING = False  # see ``imports``
if TYPE_CHECKING:
    from typing import Any

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
    with contextlib.suppress(Exception):  # the program goes on without live frames
        getattr(importlib.import_module("mosaic_worker.fastlane.making"), treatment)(module)
