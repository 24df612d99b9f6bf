"""What a source of live pictures is: a run's segment on this machine, or files that its supervisor writes elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from PIL import Image

Metrics = dict[str, Any]
"""Of one lane: ``lane``, ``label``, ``frame`` (its number), ``age`` (seconds), ``last_reward``, ``rolling_return``,
``step_rate_hz`` (None where not known), and ``box``: where it is in the picture (left, top, width, height)."""


@dataclass(frozen=True)
class View:
    """What there is to see at one moment; ``token`` grows with everything new."""

    token: int
    image: Image.Image
    metrics: list[Metrics]


class Source(Protocol):
    """Where the pictures of one attempt come from. ``lane``: one lane alone; None: all that the run shows."""

    def want(self, lane: int | None) -> None:
        """Somebody looks, for another second or so."""

    def view(self, after: int, side: int | None, lane: int | None) -> View | None:
        """The newest view, unless its token is ``after`` or less; ``side``: pixels of its longer side at most."""

    def note(self, lane: int | None) -> str:
        """Why there is nothing to see; empty when there is."""

    def close(self) -> None:
        """Give back what it holds."""
