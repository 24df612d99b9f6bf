"""A stage with a segment of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from audience import Stage
from ulid import ULID

from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.spec.schema import FastlaneSpec


@pytest.fixture
def make_stage(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(**settings: float | str) -> Stage:
        spec = FastlaneSpec(**{"max_dim": 64, "interval_ms": 10.0, **settings})  # type: ignore[arg-type]
        made.append(Stage(Segment(str(ULID()), 1, spec), tmp_path))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


@pytest.fixture
def stage(make_stage: Callable[..., Stage]) -> Stage:
    return make_stage()
