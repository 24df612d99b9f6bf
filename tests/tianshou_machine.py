"""The Tianshou worker of a stranger's machine, as tests look into it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from machine import REPOSITORY, Machine

COMPARE = REPOSITORY / "tests" / "cleanrl" / "inside.py"


def python(machine: Machine) -> str:
    """The worker's interpreter."""
    found: str = json.loads(machine.run("workers", "install", "tianshou", "--json"))["python"]
    return found


def differences(machine: Machine, one: Path, other: Path) -> Any:
    """Where two checkpoints differ, to the last bit."""
    command = [python(machine), str(COMPARE), "walk", str(one), str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def newest_checkpoint(machine: Machine, run_id: str | None = None) -> Path:
    """The last checkpoint that a run's manifest names."""
    return machine.run_dir(run_id) / str(machine.manifest(run_id)["checkpoints"][-1]["path"])
