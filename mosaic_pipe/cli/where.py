"""Where the value of a key was set: on the command line, or in which config file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mosaic_pipe.spec.compose import Locate


def given_keys(overrides: Iterable[str]) -> list[str]:
    """The dotted keys that ``overrides`` set; of a group, its name."""
    return [_key(override) for override in overrides]


def locator(overrides: Sequence[str], choices: Mapping[str, Any]) -> Locate:
    """Tells, for a dotted key of a composition, the key and what set it.

    Args:
        overrides: those of the composition.
        choices: which config was chosen in each group.
    """

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
