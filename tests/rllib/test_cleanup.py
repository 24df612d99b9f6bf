"""Nothing of Ray outlives its run, whatever is killed: no process, no directory, nothing in /dev/shm."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from machine import Machine, processes_of


def scratch_of(pid: int) -> Path:
    """The scratch directory that a worker was given."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return Path(next(v for v in variables if v.startswith(b"MOSAIC_SCRATCH=")).decode().partition("=")[2])


def raylet_of(run_dir: Path) -> int:
    return next(pid for pid in processes_of(run_dir) if b"raylet" in Path(f"/proc/{pid}/cmdline").read_bytes()[:400])


@pytest.mark.parametrize("victim", ["worker", "supervisor", "raylet", "guard and supervisor"])
def test_nothing_is_left_after_kill_9(machine: Machine, victim: str) -> None:
    machine.run("workers", "install", "rllib")
    shared_memory = set(os.listdir("/dev/shm"))
    started = machine.start("worker=rllib", "total_timesteps=100000000", "tracking=none")
    machine.wait_for(lambda: machine.events(machine.run_ids()[0], "episode"), seconds=180)
    run_id = machine.run_ids()[0]
    run_dir = machine.run_dir(run_id)
    worker = machine.manifest(run_id)["attempts"][0]["worker_pid"]
    scratch = scratch_of(worker)
    assert scratch.parent == Path(tempfile.gettempdir())
    assert scratch.stat().st_mode & 0o777 == 0o700
    assert (scratch / "session_latest").exists()
    if victim == "guard and supervisor":
        (guard,) = (pid for pid in children_of(started.pid) if pid != worker)
        os.kill(guard, signal.SIGKILL)
    os.kill({"worker": worker, "raylet": raylet_of(run_dir)}.get(victim, started.pid), signal.SIGKILL)
    machine.wait_for(lambda: not processes_of(run_dir), seconds=60)
    started.communicate(timeout=60)
    if victim == "guard and supervisor":  # nobody was left to remove it: the next run on this machine does
        machine.run("worker=random", "algo=random", "total_timesteps=100")
    machine.wait_for(lambda: not scratch.exists(), seconds=5)
    assert set(os.listdir("/dev/shm")) <= shared_memory
    assert not (Path.home() / "ray_results").exists()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
