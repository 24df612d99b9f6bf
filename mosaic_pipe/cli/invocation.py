"""This command, for what Hydra makes by itself and hands nothing of ours to: launchers and sweepers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Invocation:
    """What the user typed, and what came of it."""

    arguments: list[str] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)


invocation = Invocation()
