"""The XuanCe worker of a stranger's machine, as tests look into it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from machine import REPOSITORY, Machine

COMPARE = REPOSITORY / "tests" / "cleanrl" / "inside.py"
TRAIN = REPOSITORY / "tests" / "xuance" / "inside.py"


def python(machine: Machine) -> str:
    """The worker's interpreter."""
    found: str = json.loads(machine.run("workers", "install", "xuance", "--json"))["python"]
    return found


def spec_file(machine: Machine, name: str, *overrides: str) -> Path:
    """The spec of ``overrides``, in a file."""
    answer = json.loads(machine.run("worker=xuance", "tracking=none", *overrides, "--dry-run"))
    file = machine.folder / f"{name}.json"
    file.write_text(json.dumps(answer["spec"]))
    return file


def inside(machine: Machine, script: Path, *arguments: str) -> Any:
    """What ``script`` prints last, run by the worker's interpreter."""
    command = [python(machine), str(script), *arguments]
    one_thread = {**machine.variables, "OMP_NUM_THREADS": "1"}  # as a run of one cpu has it
    done = subprocess.run(command, env=one_thread, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
