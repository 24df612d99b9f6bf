"""Sweeps on a real Slurm that preempts, loses nodes, is out of time, or is asked to stop."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cluster import Cluster
from machine import Machine, processes_of

pytestmark = pytest.mark.slurm

MINE = ["-m", "worker=random", "algo=random", "env=cartpole", "hydra/launcher=slurm", "sweep=mine"]
SLOW = ["+algo.native.step_seconds=0.02", "total_timesteps=300", "checkpoint.interval=20"]


def saved(machine: Machine, count: int = 1) -> list[str]:
    """Wait until ``count`` runs have saved a checkpoint; returns their ids."""

    def found() -> list[str]:
        ids = [run_id for run_id in machine.run_ids() if machine.manifest(run_id)["checkpoints"]]
        return ids if len(ids) >= count else []

    ids: list[str] = machine.wait_for(found)
    return ids


def ended(machine: Machine, run_id: str, attempts: int = 1, seconds: float = 60.0) -> dict[str, Any]:
    """Wait until a run has ended, in its attempt ``attempts`` or a later one; returns the manifest."""

    def found() -> dict[str, Any] | None:
        manifest = machine.manifest(run_id)
        over = manifest["state"] not in ("PENDING", "PROVISIONING", "RUNNING")
        return manifest if over and len(manifest["attempts"]) >= attempts else None

    manifest: dict[str, Any] = machine.wait_for(found, seconds)
    return manifest


def assert_continued(machine: Machine, manifest: dict[str, Any]) -> None:
    """The run has completed in two attempts, the second from a checkpoint of the first; nothing is counted twice."""
    first, second = manifest["attempts"]
    assert second["state"] == manifest["state"] == "COMPLETED"
    assert first["state"] != "COMPLETED"
    assert 0 < second["resumed_at"] < manifest["summary"]["env_steps"]
    assert manifest["summary"]["env_steps"] == manifest["spec"]["total_timesteps"]
    before, after = (events(machine, manifest["run_id"], number) for number in (1, 2))
    kept = [one for one in before if one["event"] == "episode" and one["payload"]["env_steps"] <= second["resumed_at"]]
    assert manifest["summary"]["episodes"] == len(kept) + sum(one["event"] == "episode" for one in after)
    for attempt in (before, after):  # each file was written by one process
        assert [one["seq"] for one in attempt] == list(range(1, len(attempt) + 1))
        assert len([one for one in attempt if one["event"] == "run_started"]) == 1
    assert not processes_of(machine.run_dir(manifest["run_id"]))


def events(machine: Machine, run_id: str, attempt: int) -> list[dict[str, Any]]:
    file = machine.run_dir(run_id) / "attempts" / str(attempt) / "events.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_preempted_runs_go_on_from_their_checkpoints(machine: Machine, cluster: Cluster) -> None:
    """``low`` warns and gives time to save, ``lowhard`` sends SIGTERM and, after KillWait, SIGKILL."""
    for partition in ("low", "lowhard"):
        machine.run(*MINE, *SLOW, f"sweep={partition}", f"hydra.launcher.partition={partition}")
    run_ids = saved(machine, 2)
    preemptor = cluster.occupy()
    assert [ended(machine, run_id)["state"] for run_id in run_ids] == ["PREEMPTED"] * 2
    cluster.ask("scancel", preemptor)
    machine.run(*MINE, *SLOW, "sweep=low", "hydra.launcher.partition=low")  # has nothing to do
    for run_id in run_ids:
        assert_continued(machine, ended(machine, run_id, attempts=2))
    assert len(cluster.jobs()) == 3


def test_lost_nodes_cost_what_came_after_the_checkpoint(machine: Machine, cluster: Cluster) -> None:
    """Of one run the node is lost, of the other slurmd alone: it goes on until it sees that it has a successor."""
    slow = ["+algo.native.step_seconds=0.05", "total_timesteps=600", "checkpoint.interval=20", "resources.cpus=3"]
    machine.run(*MINE, *slow, "seed=1,2")
    first, second = saved(machine, 2)
    nodes = [machine.manifest(run_id)["attempts"][0]["slurm"]["node"] for run_id in (first, second)]
    cluster.down("--node", nodes[0])
    cluster.kill(nodes[1])
    for run_id in (first, second):
        manifest = ended(machine, run_id, attempts=2, seconds=90)
        assert_continued(machine, manifest)
        assert manifest["attempts"][0]["failure"] == "node_failure"
        assert manifest["attempts"][1]["slurm"]["node"] not in nodes
    assert len(events(machine, second, 1)) > len(events(machine, first, 1))


def test_a_job_whose_time_is_up_is_queued_again(machine: Machine, cluster: Cluster) -> None:
    machine.run(*MINE, *SLOW, "total_timesteps=100000", "seed=1")
    (run_id,) = saved(machine)
    (job,) = cluster.jobs()
    cluster.ask("scontrol", "update", f"JobId={job}", "TimeLimit=1")  # the warning is due at once
    stopped = ended(machine, run_id)
    assert stopped["state"] == "PREEMPTED"
    machine.wait_for(lambda: len(machine.manifest(run_id)["attempts"]) == 2)
    assert machine.manifest(run_id)["attempts"][1]["resumed_at"] == stopped["checkpoints"][-1]["env_steps"]
    assert list(cluster.jobs()) == [job]


def test_a_user_s_error_is_tried_once(machine: Machine, cluster: Cluster) -> None:
    machine.run(*MINE, "seed=1", "total_timesteps=100", "+algo.native.misbehave=crash,null")
    said = machine.run("sweep", "watch", "mine", expect=1)
    assert "1 failed (user_error), 1 completed" in said
    machine.wait_for(lambda: sorted(cluster.jobs().values()) == ["COMPLETED", "FAILED"])

    machine.run("sweep", "retry", "mine", "--failed=killed")
    assert len(cluster.jobs()) == 2
    machine.run("sweep", "retry", "mine", "--failed=user_error")
    assert len(cluster.jobs()) == 3
    machine.run("sweep", "watch", "mine", expect=1)
    manifests = [machine.manifest(run_id) for run_id in machine.run_ids()]
    assert {one["state"]: len(one["attempts"]) for one in manifests} == {"COMPLETED": 1, "FAILED": 2}


def test_a_sweep_is_cancelled(machine: Machine, cluster: Cluster) -> None:
    command = [*MINE, *SLOW, "seed=1,2,3", "hydra.launcher.array_parallelism=1"]
    machine.run(*command)
    (run_id,) = saved(machine)
    said = machine.run("sweep", "cancel", "mine")
    assert "sweep mine: 1 cancelled, 2 new" in said
    assert machine.manifest(run_id)["checkpoints"][-1]["env_steps"] == machine.manifest(run_id)["summary"]["env_steps"]
    machine.wait_for(lambda: not cluster.ask("squeue", "-h"))
    assert set(cluster.jobs().values()) == {"CANCELLED", "FAILED"}
    assert machine.run_ids() == [run_id]

    machine.run(*command, "hydra.launcher.array_parallelism=3")
    for one in machine.wait_for(lambda: ids if len(ids := machine.run_ids()) == 3 else None):
        assert ended(machine, one, attempts=2 if one == run_id else 1)["state"] == "COMPLETED"


def test_scancel_of_a_running_job_is_final(machine: Machine, cluster: Cluster) -> None:
    machine.run(*MINE, *SLOW, "seed=1")
    (run_id,) = saved(machine)
    (job,) = cluster.jobs()
    cluster.ask("scancel", job)
    manifest = ended(machine, run_id)
    assert manifest["state"] == "CANCELLED"
    assert manifest["checkpoints"][-1]["env_steps"] == manifest["summary"]["env_steps"]
    machine.wait_for(lambda: cluster.jobs()[job] == "CANCELLED")
    assert "1 cancelled" in machine.run("sweep", "watch", "mine", expect=130)
