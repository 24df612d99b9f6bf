"""What is asked of Slurm, how often, and what is made of late, lying or no answers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from cluster import Cluster, instead_of
from machine import Machine

from mosaic_pipe.launch.slurm.queue import Queue
from mosaic_pipe.store.attempts import Owner
from mosaic_pipe.store.sweeps import Jobs, Sweep, Sweeps

pytestmark = pytest.mark.slurm

MINE = ["-m", "worker=random", "algo=random", "env=cartpole", "hydra/launcher=slurm", "sweep=mine"]


def test_watching_asks_slurm_once_in_30_seconds(machine: Machine, cluster: Cluster) -> None:
    asked = machine.folder / "asked"
    machine.run(*MINE, "seed=1", "total_timesteps=300", "+algo.native.step_seconds=0.03")
    with instead_of(machine, "squeue", f'echo >> {asked}; exec $real "$@"'):
        started = time.monotonic()
        machine.run("sweep", "watch", "mine")
    seconds = time.monotonic() - started
    assert seconds > 8
    assert len(asked.read_text().splitlines()) <= 1 + seconds // 30


def test_without_its_controller_slurm_is_said_to_be_away(machine: Machine, cluster: Cluster) -> None:
    cluster.kill("slurmctld")
    machine.run(*MINE, "seed=1,2", "total_timesteps=50", expect=2)
    assert "error: scontrol: " in machine.stderr
    cluster.up()
    machine.run(*MINE, "seed=1,2", "total_timesteps=50", "+hydra.launcher.extra.hold=true")
    cluster.kill("slurmctld")
    for command in (["sweep", "watch", "mine"], [*MINE, "seed=1,2,3", "total_timesteps=50"]):
        machine.run(*command, expect=2)
        assert "error: squeue: " in machine.stderr
    cluster.up()
    for job in cluster.jobs():
        cluster.ask("scontrol", "release", job)
    machine.run("sweep", "watch", "mine")
    assert len(cluster.jobs()) == 2


# What follows has no cluster: no real one gives these answers when they are wanted.

ELSEWHERE = "another-machine"


class Answers:
    """A ``squeue`` with prepared answers."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = folder / "answer"
        (folder / "squeue").write_text(f"#!/bin/sh\ncat {self.file}\n")
        (folder / "squeue").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")

    def say(self, *tasks: tuple[str, str, Jobs]) -> None:
        self.file.write_text("".join(f"{job}|{state}|{jobs.token}\n" for job, state, jobs in tasks))


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(tmp_path, monkeypatch)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    return Sweeps(tmp_path).open("mine")


def array(sweep: Sweep, *run_ids: str, submitted: float | None = None) -> Jobs:
    jobs = Jobs(token=f"mosaic-pipe {len(sweep.jobs())}", submitted=submitted or time.time() - 60, run_ids=[*run_ids])
    sweep.add_jobs(jobs)
    return jobs


def owner(jobs: Jobs, run_id: str, started: float) -> Owner:
    return Owner(
        host=ELSEWHERE, pid=1, pid_started=started, pid_mark="boot 1", slurm={"token": jobs.token, "run_id": run_id}
    )


def test_a_job_id_that_is_used_again_is_another_job(sweep: Sweep, answers: Answers) -> None:
    old, new = array(sweep, "A", "B"), array(sweep, "B", "C")
    answers.say(("1_0", "RUNNING", new))
    queue = Queue(sweep)
    assert queue.queued() == {"B": new.submitted}
    assert queue.is_gone(owner(old, "A", time.time() - 100))
    assert queue.is_gone(owner(old, "B", time.time() - 100))
    assert not queue.is_gone(owner(new, "B", time.time() - 100))


def test_of_two_tasks_for_one_run_each_speaks_for_itself(sweep: Sweep, answers: Answers) -> None:
    first, second = array(sweep, "A", "B"), array(sweep, "A", "B")
    answers.say(("1_0", "RUNNING", first), ("2_0", "PENDING", second), ("2_1", "PENDING", second))
    queue = Queue(sweep)
    assert set(queue.queued()) == {"A", "B"}
    assert not queue.is_gone(owner(first, "A", time.time() - 100))
    assert queue.is_gone(owner(first, "B", time.time() - 100))


def test_what_was_submitted_or_begun_after_the_answer_is_not_gone(sweep: Sweep, answers: Answers) -> None:
    early = array(sweep, "A")
    answers.say()
    queue = Queue(sweep)
    assert queue.queued() == {}
    late = array(sweep, "B", submitted=time.time() + 1)
    assert queue.queued() == {"B": late.submitted}
    assert not queue.is_gone(owner(early, "A", time.time()))
    assert queue.is_gone(owner(early, "A", time.time() - 100))


def test_a_job_that_waits_again_has_no_process(sweep: Sweep, answers: Answers) -> None:
    jobs = array(sweep, "A", "B")
    answers.say(("1_0", "PENDING", jobs), ("1_1", "COMPLETING", jobs))
    queue = Queue(sweep)
    queue.queued()
    assert queue.is_gone(owner(jobs, "A", time.time() - 100))
    assert not queue.is_gone(owner(jobs, "B", time.time() - 100))


def test_only_slurm_s_jobs_are_judged_by_its_queue(sweep: Sweep, answers: Answers) -> None:
    answers.say()
    queue = Queue(sweep)
    queue.queued()
    assert not queue.is_gone(Owner(host=ELSEWHERE, pid=1, pid_started=1.0, pid_mark="boot 1"))


def test_cancelling_spares_what_stops_by_itself_and_nothing_else(
    sweep: Sweep, answers: Answers, tmp_path: Path
) -> None:
    (tmp_path / "scancel").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/cancelled\n')
    (tmp_path / "scancel").chmod(0o755)
    first, second, other = array(sweep, "A", "B"), array(sweep, "A"), Jobs(token="other", submitted=1.0, run_ids=["A"])
    answers.say(("1_0", "RUNNING", first), ("1_1", "RUNNING", first), ("2", "PENDING", second), ("3", "RUNNING", other))
    queue = Queue(sweep)
    queue.queued()
    queue.cancel(["A"])
    assert (tmp_path / "cancelled").read_text().split() == ["--quiet", "1_1", "2"]
    assert set(queue.queued()) == {"A"}
