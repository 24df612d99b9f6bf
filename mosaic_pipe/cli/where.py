"""Where the value of a key was set: on the command line, or in which config file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mosaic_pipe.spec.compose import Locate


def given_keys(hydra_config: Any) -> list[str]:
    """The dotted keys that the command line of this composition sets; of a group, its name."""
    return [_key(override) for override in hydra_config.overrides.task]


def locator(hydra_config: Any) -> Locate:
    """Tells, for a dotted key of this composition, the key and what set it.

    Args:
        hydra_config: Hydra's own node of the composed config.
    """
    overrides: list[str] = list(hydra_config.overrides.task)
    choices: dict[str, Any] = dict(hydra_config.runtime.choices)

    def locate(key: str) -> str:
        if sets(overrides, key):
            return f"{key} (command line)"
        group = key.split(".")[0]
        if group in choices and "." in key:
            return f"{key} ({group}/{choices[group]}.yaml)"
        return f"{key} (config.yaml)"

    return locate


def sets(overrides: Iterable[str], key: str) -> bool:
    """Whether one of ``overrides`` sets the dotted ``key``."""
    return any(_key(override) == key for override in overrides)


def _key(override: str) -> str:
    return override.lstrip("+~").partition("=")[0].partition("@")[0]
