"""The CleanRL worker of a stranger's machine, as tests look into it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from machine import Machine

INSIDE = Path(__file__).parent / "cleanrl" / "inside.py"


def python(machine: Machine, *extras: str) -> str:
    """The worker's interpreter, with what ``extras`` bring."""
    flags = [flag for extra in extras for flag in ("--extra", extra)]
    found: str = json.loads(machine.run("workers", "install", "cleanrl", *flags, "--json"))["python"]
    return found


def ask(machine: Machine, question: str, *files: Path) -> Any:
    """The answer of ``inside.py``."""
    command = [python(machine), str(INSIDE), question, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def newest_checkpoint(machine: Machine, run_id: str | None = None) -> Path:
    """The last checkpoint that a run's manifest names."""
    return machine.run_dir(run_id) / str(machine.manifest(run_id)["checkpoints"][-1]["path"])
