"""Fixtures: the stranger's machine is made once a session; each test gets a folder of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # machine.py, for tests in subfolders

from machine import RANDOM_WORKER, REPOSITORY, Machine

from mosaic_pipe.workers import uv


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtualenv with mosaic-pipe as a wheel and the third-party worker beside it; workers' environments go there."""
    base = tmp_path_factory.mktemp("stranger")
    venv = base / "venv"
    uv.make_virtualenv(venv, sys.executable)
    uv.install(venv, [f"{REPOSITORY}[optuna]"], constraints=None, directory=base, torch_backend=None)
    no_deps = ["--no-deps", str(RANDOM_WORKER)]  # its library belongs into its own environment
    uv.install(venv, no_deps, constraints=None, directory=base, torch_backend=None)
    return base


@pytest.fixture
def machine(stranger: Path, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(stranger / "venv", stranger / "home", tmp_path)
    yield made
    made.close()
