"""The nearest valid name, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """``did you mean 'ppo'?`` for the nearest of ``valid``; the whole list where nothing is near; else ``''``."""
    names = sorted(set(valid))
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"valid: {', '.join(names)}" if names else ""
