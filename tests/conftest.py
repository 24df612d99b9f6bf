"""Fixtures: the stranger's machine is made once; each test gets a folder of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

sys.path.insert(0, str(Path(__file__).parent))  # machine.py, for tests in subfolders

from machine import ENV_PACKAGE, RANDOM_WORKER, REPOSITORY, Machine
from scheduling import Scheduling, rank

from mosaic_pipe.workers import uv

sys.path.insert(0, str(ENV_PACKAGE))  # known_env, for what its episodes must be
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile torch, or Ray, each for itself
os.environ["UV_COMPILE_BYTECODE"] = "0"  # most modules are never imported


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Several processes share the tests."""
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In one of several processes, what takes long comes first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A virtualenv with mosaic-pipe as a wheel and the third-party worker beside it; workers' environments go there."""
    ours = tmp_path_factory.getbasetemp()
    base = (ours if worker_id == "master" else ours.parent) / "stranger"
    with FileLock(f"{base}.lock"):
        if not base.exists():
            _make_stranger(base)
    return base


def _make_stranger(base: Path) -> None:
    base.mkdir()
    venv = base / "venv"
    uv.make_virtualenv(venv, sys.executable)
    uv.install(venv, [f"{REPOSITORY}[optuna,view]"], constraints=None, directory=base, torch_backend=None)
    no_deps = ["--no-deps", str(RANDOM_WORKER)]  # its library belongs into its own environment
    uv.install(venv, no_deps, constraints=None, directory=base, torch_backend=None)


@pytest.fixture(scope="session")
def temporary() -> Iterator[Path]:
    """A ``TMPDIR`` of its own: launchers of tests that run at once do not wait for each other's cores.

    Short, so that a Unix socket's path fits below it.
    """
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def make_machine(stranger: Path, temporary: Path) -> Callable[[Path], Machine]:
    """Makes a stranger's machine that works in a given folder."""

    def make(folder: Path) -> Machine:
        made = Machine(stranger / "venv", stranger / "home", folder)
        made.variables["TMPDIR"] = str(temporary)
        return made

    return make


@pytest.fixture
def machine(make_machine: Callable[[Path], Machine], tmp_path: Path) -> Iterator[Machine]:
    made = make_machine(tmp_path)
    yield made
    made.close()
