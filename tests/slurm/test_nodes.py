"""A run over several nodes of a real Slurm, which are one machine here: Ray on each, and nothing of it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import Cluster
from machine import Machine

pytestmark = pytest.mark.slurm

RUN = ["-m", "worker=rllib", "algo=ppo", "env=cartpole", "tracking=none", "total_timesteps=100000000", "sweep=mine"]


def variables_of(pid: str) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/environ").read_text()
    except OSError:
        return {}
    return dict(variable.partition("=")[::2] for variable in text.split("\0") if variable)


def processes_of_job(cluster: Cluster, job: str) -> dict[str, str]:
    """Node and command line of each process of a job, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        variables = variables_of(entry.name) if entry.name.isdigit() else {}
        if variables.get("SLURM_CONF") == cluster.variables["SLURM_CONF"] and variables.get("SLURM_JOB_ID") == job:
            try:
                command = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            found[entry.name] = f"{variables.get('SLURMD_NODENAME')}: {command}"
    return found


def test_ray_spans_the_nodes_of_a_job(machine: Machine, cluster: Cluster) -> None:
    temporary = Path(machine.variables["TMPDIR"])
    before = set(temporary.iterdir())
    machine.run(*RUN, "hydra/launcher=slurm", "resources.nodes=2")
    (run_id,) = machine.wait_for(lambda: machine.run_ids())
    machine.wait_for(lambda: machine.events(run_id, "episode"), seconds=180)
    (job,) = cluster.jobs()
    running = processes_of_job(cluster, job).values()
    for node in ("n0", "n1"):
        assert any(one.startswith(f"{node}: ") and "raylet/raylet " in one for one in running)
        assert any(one.startswith(f"{node}: ray::SingleAgentEnvRunner") for one in running)

    machine.run("sweep", "cancel", "mine")
    manifest = machine.manifest(run_id)
    assert manifest["state"] == "CANCELLED"
    assert manifest["checkpoints"][-1]["env_steps"] == manifest["summary"]["env_steps"] > 0
    machine.wait_for(lambda: not processes_of_job(cluster, job))
    machine.wait_for(lambda: not {path for path in temporary.iterdir() if path.name.startswith("mosaic-")} - before)
