"""What may never stand in a spec: code to execute, secrets, numbers that JSON cannot say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from mosaic_pipe.base.errors import SpecError

_EXECUTES = frozenset({"_target_", "_partial_", "_recursive_", "_convert_", "_args_", "__reduce__", "__class__"})
_SECRET = re.compile(r"(^|[_-])(api[_-]?key|token|password|passwd|secret|credentials?)$", re.IGNORECASE)


def refuse_unsafe(config: dict[str, Any]) -> None:
    """Refuse anything in ``config`` (a plain container) that would execute code or hold a secret.

    Raises:
        SpecError: names the key.
    """
    for path, key, value in _leaves(config, ""):
        if key in _EXECUTES:
            raise SpecError(
                f"{key!r} asks for code to be executed", where=path, hint="config is data here; remove the key"
            )
        if _SECRET.search(key) and isinstance(value, str) and value:
            raise SpecError(
                "a secret has no place in a config, which is stored with the run",
                where=path,
                hint="set it as an environment variable; the worker inherits your environment",
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"{value} is not a number that a spec can hold", where=path, hint="give a finite number")
        if key in ("id", "env_id") and isinstance(value, str) and ":" in value:
            raise SpecError(
                f"{value!r} names a module to import, and config is data here",
                where=path,
                hint="give the registered id alone, without 'module:'",
            )


def _leaves(node: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        here = f"{path}.{key}" if path else str(key)
        yield here, str(key), value
        if isinstance(value, dict | list):
            yield from _leaves(value, here)
