"""Sweeps on a real Slurm: what is submitted, by whom and how often."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from cluster import Cluster, instead_of
from machine import Machine

pytestmark = pytest.mark.slurm

SWEEP = ["-m", "worker=random", "algo=random", "env=cartpole", "total_timesteps=50", "hydra/launcher=slurm"]
MINE = [*SWEEP, "sweep=mine"]


def completed(machine: Machine, count: int) -> None:
    """Wait until there are ``count`` runs, all completed in their first attempt."""

    def ended() -> bool:
        found = [machine.manifest(run_id) for run_id in machine.run_ids()]
        return len(found) == count and all(manifest["state"] == "COMPLETED" for manifest in found)

    machine.wait_for(ended)
    assert [len(machine.manifest(run_id)["attempts"]) for run_id in machine.run_ids()] == [1] * count


def test_a_sweep_is_submitted_watched_and_added_to(machine: Machine, cluster: Cluster) -> None:
    said = machine.run(*MINE, "seed=1,2")
    assert "sweep mine: 2 jobs submitted in 1 arrays" in machine.stderr
    assert "sweep watch mine" in said
    assert "sweep mine: 2 completed" in machine.run("sweep", "watch", "mine")
    for run_id in machine.run_ids():
        (attempt,) = machine.manifest(run_id)["attempts"]
        assert attempt["slurm"]["cluster"] == "test"
        assert attempt["slurm"]["node"] in ("n0", "n1", "n2", "n3")
        assert attempt["slurm"]["job"].isdigit()

    machine.run(*MINE, "seed=1,2")
    assert "2 points: 2 completed" in machine.stderr
    assert len(cluster.jobs()) == 2

    machine.run(*MINE, "seed=1,2,3")
    assert len(cluster.jobs()) == 3
    completed(machine, 3)


def test_one_that_waits_for_its_sweep(machine: Machine, cluster: Cluster) -> None:
    assert "sweep mine: 2 completed" in machine.run(*MINE, "seed=1,2", "detach=false")


@pytest.mark.parametrize(
    ("command", "script"),
    [
        pytest.param("scontrol", "kill -9 $PPID", id="while planning"),
        pytest.param("sbatch", "kill -9 $PPID", id="before sbatch"),
        pytest.param("sbatch", '$real "$@"; kill -9 $PPID', id="after sbatch"),
    ],
)
def test_the_submitting_process_is_killed(machine: Machine, cluster: Cluster, command: str, script: str) -> None:
    with instead_of(machine, command, script):
        machine.run(*MINE, "seed=1,2", expect=-9)
    machine.run(*MINE, "seed=1,2")
    assert len(cluster.jobs()) == 2
    completed(machine, 2)


def test_two_submit_the_same_sweep_at_the_same_moment(machine: Machine, cluster: Cluster) -> None:
    submitters = [machine.start(*MINE, "seed=1,2,3") for _ in range(2)]
    for submitter in submitters:
        _, said = submitter.communicate(timeout=60)
        assert submitter.returncode == 0, said
    machine.wait_for(lambda: set(cluster.jobs().values()) == {"COMPLETED"})
    completed(machine, 3)


def test_arrays_are_as_large_as_the_cluster_allows(machine: Machine, cluster: Cluster) -> None:
    machine.run(*MINE, "seed=range(0,12)")
    assert "12 jobs submitted in 3 arrays" in machine.stderr
    assert len({job.partition("_")[0] for job in cluster.jobs()}) == 3
    completed(machine, 12)


@pytest.mark.parametrize(
    ("said_by_sbatch", "exit_code"),
    [("Invalid qos specification", 2), ("Batch job submission failed: Job violates MaxSubmitJobsPerUser", 1)],
)
def test_sbatch_fails_after_part_of_the_sweep(
    machine: Machine, cluster: Cluster, said_by_sbatch: str, exit_code: int
) -> None:
    first = machine.folder / "first"
    script = f'[ -e {first} ] && echo "sbatch: error: {said_by_sbatch}" >&2 && exit 1; touch {first}; exec $real "$@"'
    held = "+hydra.launcher.extra.hold=true"
    with instead_of(machine, "sbatch", script):
        machine.run(*MINE, "seed=range(0,7)", held, expect=exit_code)
    assert said_by_sbatch in machine.stderr
    assert len(cluster.jobs()) == 5
    machine.run("sweep", "status", "mine")

    machine.run(*MINE, "seed=range(0,7)", held)
    assert "sweep mine: 2 jobs submitted in 1 arrays" in machine.stderr
    assert len(cluster.jobs()) == 7


def test_the_answer_of_sbatch_gets_lost(machine: Machine, cluster: Cluster) -> None:
    lost = (
        '$real "$@" >&2; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv" >&2; exit 1'
    )
    with instead_of(machine, "sbatch", lost):
        machine.run(*MINE, "seed=1,2", expect=2)
    assert "Socket timed out" in machine.stderr
    machine.run(*MINE, "seed=1,2")
    assert len(cluster.jobs()) == 2
    completed(machine, 2)


def test_what_the_cluster_refuses_is_said(machine: Machine, cluster: Cluster) -> None:
    machine.run(*MINE, "seed=1,2", "hydra.launcher.partition=nosuch", expect=2)
    assert "invalid partition specified: nosuch" in machine.stderr
    machine.run(*MINE, "seed=1,2", "hydra.launcher.time_min=long", expect=2)
    assert "time_min" in machine.stderr
    machine.run(*MINE, "seed=1,2", "+hydra.launcher.extra.comment=ours", expect=2)
    assert "hydra.launcher.extra.comment" in machine.stderr
    machine.run(*MINE, "seed=1,2", "+hydra.launcher.extra.hold=true")
    assert len(cluster.jobs()) == 2


def test_job_ids_are_used_again(machine: Machine) -> None:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        cluster = Cluster(Path(folder) / "c")
        machine.variables |= cluster.variables
        for points in (1, 2):
            cluster.up()
            machine.run(*MINE, f"seed=range(0,{points})")
            completed(machine, points)
            cluster.down()
    jobs = [machine.manifest(run_id)["attempts"][0]["slurm"]["job"] for run_id in machine.run_ids()]
    assert jobs == ["1", "1"]


def test_a_user_s_name_is_not_asked_of_the_environment(machine: Machine, cluster: Cluster) -> None:
    machine.variables["LOGNAME"] = "nobody"
    machine.run(*MINE, "seed=1,2", "+hydra.launcher.extra.hold=true")
    machine.run(*MINE, "seed=1,2", "+hydra.launcher.extra.hold=true")
    assert len(cluster.jobs()) == 2


def test_each_job_has_what_the_point_asks_for(machine: Machine, cluster: Cluster) -> None:
    wanted = ["resources.cpus=2", "resources.memory_mb=300", "hydra.launcher.gres='gpu:1'", "hydra.launcher.time_min=7"]
    machine.run(*MINE, "seed=1", *wanted, "+hydra.launcher.extra.hold=true")
    (job,) = cluster.jobs()
    facts = cluster.ask("scontrol", "show", "job", job)
    for expected in ("NumCPUs=2", "MinMemoryNode=300M", "TimeLimit=00:07:00", r"TresPerNode=(gres[:/])?gpu:1"):
        assert re.search(expected, facts), facts
