"""Environments of installed packages, found as Gymnasium itself found them until 0.29."""

import warnings
from contextlib import nullcontext
from importlib.metadata import entry_points

from gymnasium.envs import registration


def register_installed() -> None:
    """Call what installed packages name by the entry point ``gymnasium.envs`` to register their environments.

    The entry point's name is the namespace of their ids; ``__root__``: none. A spec cannot name a module to import, so
    that this is how an environment of the user's becomes known. A package that fails is left out with a warning.
    Needs Python 3.10.
    """
    if hasattr(registration, "load_plugin_envs"):  # Gymnasium has done it
        return
    for plugin in entry_points(group="gymnasium.envs"):
        try:
            with nullcontext() if plugin.name.startswith("__") else registration.namespace(plugin.name):
                plugin.load()()
        except Exception as error:  # whatever it is, other environments are not concerned
            warnings.warn(f"{plugin.value} registers no environments: {error!r}", stacklevel=2)
