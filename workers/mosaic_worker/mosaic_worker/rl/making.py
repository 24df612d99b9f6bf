"""Environments by their ids, those of installed packages too."""

import os
import warnings
from contextlib import nullcontext
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Mapping

import gymnasium
from gymnasium.envs import registration


def make(env_id: str, kwargs: Mapping[str, Any]) -> gymnasium.Env:
    """The environment ``env_id``, as Gymnasium makes it; Python 3.10 or newer."""
    _register_installed()
    # rgb_array is what videos and frames need, and costs nothing until something renders
    return gymnasium.make(env_id, **{"render_mode": "rgb_array", **kwargs})


def render_without_a_screen() -> None:
    """Let MuJoCo render where there is no screen; its default would abort the process. Before it is imported."""
    if "DISPLAY" not in os.environ:
        os.environ.setdefault("MUJOCO_GL", "egl")


@lru_cache(maxsize=None)
def _register_installed() -> None:
    """Call what installed packages name by the entry point ``gymnasium.envs``, as Gymnasium itself did until 0.29.

    The entry point's name is the namespace of their ids; ``__root__``: none. A spec cannot name a module to import, so
    that this is how an environment of the user's becomes known. A package that fails is left out with a warning.
    """
    if hasattr(registration, "load_plugin_envs"):  # Gymnasium has done it
        return
    for plugin in entry_points(group="gymnasium.envs"):
        try:
            with nullcontext() if plugin.name.startswith("__") else registration.namespace(plugin.name):
                plugin.load()()
        except Exception as error:  # whatever it is, other environments are not concerned
            registration.current_namespace = None  # which Gymnasium leaves as it was when the plugin failed
            warnings.warn(f"{plugin.value} registers no environments: {error!r}", stacklevel=2)
