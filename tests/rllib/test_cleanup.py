"""Nothing of Ray outlives its run, whatever is killed: no process, no directory, nothing in /dev/shm.

A killed raylet, and a supervisor that is killed alone, end like the first: somebody of ours lives, and sweeps.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from machine import Machine


def variable_of(pid: int, name: str) -> str:
    """A variable of a process's environment; empty where it has none, or is not there."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((v.decode().partition("=")[2] for v in variables if v.startswith(name.encode() + b"=")), "")


def processes_with(token: str) -> dict[int, str]:
    """Living processes of an attempt, with their command lines."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return {pid: command_of(pid) for pid in pids if variable_of(pid, "MOSAIC_RUN_TOKEN") == token}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def guard_of(supervisor: int) -> int:
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return next(int(child) for child in children if "guard.py" in command_of(int(child)))


def in_shared_memory() -> set[Path]:
    """What is there, without what other tests' vectors of environments and runs make there meanwhile."""
    return {path for path in Path("/dev/shm").iterdir() if not path.name.startswith(("psm_", "mosaic_fl_"))}


def at_home() -> set[Path]:
    """What Ray leaves there where nobody tells it not to, as it may have for the user who tests."""
    places = [Path.home() / name for name in ("ray_results", ".ray")]
    return {path for place in places if place.exists() for path in (place, *place.rglob("*"))}


@pytest.mark.parametrize("victim", ["worker", "guard and supervisor"])
def test_nothing_is_left_after_kill_9(machine: Machine, victim: str) -> None:
    machine.run("workers", "install", "rllib")
    shared_memory, home = in_shared_memory(), at_home()
    started = machine.start("worker=rllib", "total_timesteps=100000000", "tracking=none")
    machine.wait_for(lambda: machine.events(machine.run_ids()[0], "episode"), seconds=180)
    worker = machine.manifest()["attempts"][0]["worker_pid"]
    token, scratch = variable_of(worker, "MOSAIC_RUN_TOKEN"), Path(variable_of(worker, "MOSAIC_SCRATCH"))
    assert scratch.parent == Path(machine.variables["TMPDIR"])
    assert scratch.stat().st_mode & 0o777 == 0o700
    assert (scratch / "ray" / "session_latest").exists()
    living = processes_with(token)
    for part in ("/raylet/raylet ", "gcs_server"):
        assert any(part in command for command in living.values())

    for pid in [worker] if victim == "worker" else [guard_of(started.pid), started.pid]:
        os.kill(pid, signal.SIGKILL)
    machine.wait_for(lambda: not processes_with(token), seconds=90)
    started.communicate(timeout=60)
    if victim == "guard and supervisor":  # nobody was left to remove it: the next run on this machine does
        machine.run("worker=random", "algo=random", "total_timesteps=100")
    machine.wait_for(lambda: not scratch.exists(), seconds=5)
    machine.wait_for(lambda: in_shared_memory() <= shared_memory)
    assert not list(Path("/dev/shm").glob(f"mosaic_fl_{machine.run_ids()[0]}_*"))
    assert at_home() == home
