"""The name of a sweep that was given none: it follows from the overrides, so that the same command means the same."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from mosaic_pipe.cli.specs import Call

_LONGEST = 40


def sweep_name(config: Any, given: str | None) -> str:
    """``given``, or the swept keys and a hash of all overrides: ``algo-env-seed-3f2a91c0``.

    Args:
        config: of the multirun, with Hydra's node.
        given: the key ``sweep``.
    """
    if given:
        return given
    params = config.hydra.sweeper.get("params") or {}
    texts = [*(f"{key}={value}" for key, value in params.items()), *config.hydra.overrides.task]
    overrides = [one for one in OverridesParser.create().parse_overrides(texts) if _matters(one.key_or_group)]
    swept = [one.key_or_group.split(".")[-1] for one in overrides if one.is_sweep_override()]
    words = "-".join(re.sub(r"[^A-Za-z0-9_]+", "-", word).strip("-") for word in swept)[:_LONGEST].strip("-_")
    told = sorted(one.input_line or "" for one in overrides)
    zipped = str(config.hydra.sweeper.get("zip") or "")
    goal = [str(config.hydra.sweeper.get(key)) for key in ("metric", "direction") if config.hydra.sweeper.get(key)]
    digest = hashlib.sha256("\n".join([*told, zipped, *goal]).encode()).hexdigest()[:8]
    return f"{words or 'sweep'}-{digest}"


def _matters(key: str) -> bool:
    return key not in Call.__struct_fields__
