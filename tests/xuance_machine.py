"""The XuanCe worker of a stranger's machine, as tests look into it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, cast

import msgspec
from hydra import compose, initialize_config_dir
from machine import REPOSITORY, Machine
from omegaconf import OmegaConf

from mosaic_pipe.cli.specs import split_call
from mosaic_pipe.spec.compose import compose_spec

COMPARE = REPOSITORY / "tests" / "cleanrl" / "inside.py"
INSIDE = REPOSITORY / "tests" / "xuance" / "inside.py"


def python(machine: Machine) -> str:
    """The worker's interpreter."""
    found: str = json.loads(machine.run("workers", "install", "xuance", "--json"))["python"]
    return found


def spec_file(folder: Path, name: str, *overrides: str) -> Path:
    """The spec of ``overrides``, in ``folder``."""
    with initialize_config_dir(str(REPOSITORY / "conf"), version_base="1.3"):
        config = compose("config", overrides=["worker=xuance", "tracking=none", *overrides])
    _, plain = split_call(cast(dict[str, Any], OmegaConf.to_container(config, resolve=True)))
    file = folder / f"{name}.json"
    file.write_bytes(msgspec.json.encode(compose_spec(plain)))
    return file


def inside(machine: Machine, script: Path, *arguments: str) -> Any:
    """What ``script`` prints last, run by the worker's interpreter."""
    command = [python(machine), str(script), *arguments]
    one_thread = {**machine.variables, "OMP_NUM_THREADS": "1"}  # as a run of one cpu has it
    done = subprocess.run(command, cwd=machine.folder, env=one_thread, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
