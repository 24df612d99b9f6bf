"""One trained run for all that only look at it; loops are not compiled, which takes Tianshou seconds a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine


@pytest.fixture
def machine(machine: Machine) -> Machine:
    """The stranger's machine; the conformance suite is what runs Tianshou as it comes."""
    machine.variables["NUMBA_DISABLE_JIT"] = "1"
    return machine


@pytest.fixture(scope="package")
def trained(stranger: Path, temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with one run: PPO on CartPole, 2048 steps in 4 environments. Its runs are for everybody: only look."""
    made = Machine(stranger / "venv", stranger / "home", tmp_path_factory.mktemp("tianshou"))
    made.variables |= {"NUMBA_DISABLE_JIT": "1", "TMPDIR": str(temporary)}
    made.run("worker=tianshou", "total_timesteps=2048", "tracking=none")
    return made
