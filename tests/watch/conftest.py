"""A run to look at, and processes that paint for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from painter import paint
from watched import Watched, watched

from mosaic_pipe.spec.schema import FastlaneSpec

Paint = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spec() -> FastlaneSpec:
    return FastlaneSpec()


@pytest.fixture
def run(tmp_path: Path, spec: FastlaneSpec) -> Iterator[Watched]:
    with watched(tmp_path, spec) as made:
        yield made


@pytest.fixture
def painter(run: Watched) -> Iterator[Paint]:
    """Starts a painter of the run's newest attempt."""
    with ExitStack() as painters:
        yield lambda *options: painters.enter_context(paint(run.path, *options))
