"""A run in a Ray that was there before it: what is the run's own ends with it, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

from machine import Machine

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "disabled"}


def processes(part: str) -> set[int]:
    """Processes with ``part`` in their command lines."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and part in (entry / "cmdline").read_text():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_killed_run_leaves_the_cluster_as_it_was(machine: Machine) -> None:
    python = json.loads(machine.run("workers", "install", "rllib", "--json"))["python"]
    machine.variables |= LOOPBACK
    folder, port = Path(machine.variables["TMPDIR"]) / "ray", free_port()
    start = [python, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}", "--num-cpus=1"]
    start += ["--node-ip-address=127.0.0.1", "--include-dashboard=false", f"--temp-dir={folder}"]
    run = ["worker=rllib", "algo=impala", f"worker.ray.address=127.0.0.1:{port}", "tracking=none", "resources.cpus=2"]
    machine.run(*run, expect=1)
    assert f"nobody answers at 127.0.0.1:{port}" in machine.stderr

    with subprocess.Popen(start, env=machine.variables, stdout=subprocess.DEVNULL) as head:
        try:
            machine.wait_for(lambda: processes(f"{folder}/session_") and (folder / "ray_current_cluster").exists())
            started = machine.start(*run, "total_timesteps=100000000")
            machine.wait_for(lambda: machine.events(machine.run_ids()[1], "episode"), seconds=180)
            cluster, runners = processes(f"{folder}/session_"), processes("ray::SingleAgentEnvRunner")
            assert runners
            os.kill(machine.manifest()["attempts"][0]["worker_pid"], signal.SIGKILL)
            started.communicate(timeout=60)
            machine.wait_for(lambda: not runners & processes("ray::"))
            assert cluster <= processes(f"{folder}/session_")
        finally:
            head.terminate()
