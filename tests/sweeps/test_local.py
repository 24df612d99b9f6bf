"""Sweeps on this machine, as a researcher runs them, stops them and loses them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from machine import Machine, kill, processes_of

RANDOM = ["worker=random", "algo=random", "env=cartpole", "total_timesteps=300"]
SLOW = ["+algo.native.step_seconds=0.02"]


def points(machine: Machine, sweep: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(machine.run("sweep", "status", sweep, "--json"))["points"]
    return found


def states(machine: Machine, sweep: str) -> list[str]:
    return [point["state"] for point in points(machine, sweep)]


def manifests(machine: Machine) -> list[dict[str, Any]]:
    return [machine.manifest(run_id) for run_id in machine.run_ids()]


def training(machine: Machine, count: int) -> list[str]:
    """Ids of ``count`` runs that have all reported an episode."""

    def found() -> list[str] | None:
        ids = [run_id for run_id in machine.run_ids() if machine.events(run_id, "episode")]
        return ids if len(ids) >= count else None

    result: list[str] = machine.wait_for(found)
    return result


def test_the_same_command_does_what_is_missing_and_only_that(machine: Machine) -> None:
    said = machine.run("-m", *RANDOM, "seed=1,2,3", "sweep=mine")
    assert "sweep mine: 3 completed" in said
    assert "sweep mine: 3 points: 3 new" in machine.stderr
    before = {run_id: machine.manifest(run_id) for run_id in machine.run_ids()}

    machine.run("-m", *RANDOM, "seed=1,2,3", "sweep=mine")
    assert "3 completed" in machine.stderr
    assert {run_id: machine.manifest(run_id) for run_id in machine.run_ids()} == before

    machine.run("-m", *RANDOM, "seed=range(1,6)", "sweep=mine")
    assert "5 points: 3 completed, 2 new" in machine.stderr
    assert len(machine.run_ids()) == 5
    assert all(machine.manifest(run_id) == before[run_id] for run_id in before)
    assert states(machine, "mine") == ["COMPLETED"] * 5
    assert {manifest["sweep"] for manifest in manifests(machine)} == {"mine"}


def test_a_sweep_without_a_name_is_known_by_its_overrides(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1,2")
    machine.run("-m", "seed=1,2", *RANDOM)  # in another order
    assert len(machine.run_ids()) == 2
    (sweep,) = json.loads(machine.run("sweep", "ls", "--json"))
    assert re.fullmatch(r"seed-[0-9a-f]{8}", sweep["name"])
    machine.run("-m", *RANDOM, "seed=1,2,3")
    assert len(json.loads(machine.run("sweep", "ls", "--json"))) == 2


def test_a_plan_starts_nothing(machine: Machine) -> None:
    said = machine.run("plan", *RANDOM, "seed=1,2", "sweep=mine")
    assert "2 points: 2 new" in said
    assert "cost unknown: no earlier run of random random CartPole-v1" in said
    assert not machine.outputs.exists()
    machine.run("-m", *RANDOM, "seed=1,2", "sweep=mine")
    said = machine.run("plan", *RANDOM, "seed=1,2,3,3", "sweep=mine")
    assert "3 points: 2 completed, 1 new" in said
    assert "1 more are the same experiments" in said
    assert re.search(r"to run: 1, expected [\d.e-]+ \([\d.e-]+ to [\d.e-]+\) core-hours, 0:0\d", said)


def test_a_budget_stops_a_sweep(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1", "sweep=mine", "--budget", "1", expect=2)
    assert "nothing is known of the cost of random random CartPole-v1" in machine.stderr
    machine.run(*RANDOM)
    machine.run("-m", *RANDOM, "seed=2", "sweep=mine", "--budget=0.000001", expect=2)
    assert "core-hours expected, 1e-06 allowed: nothing was started" in machine.stderr
    assert len(machine.run_ids()) == 1
    machine.run("-m", *RANDOM, "seed=2", "sweep=mine", "--budget=10")
    assert len(machine.run_ids()) == 2


def test_points_that_the_worker_refuses(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1,wrong,3", expect=2)
    assert "1 of 3 points are refused" in machine.stderr
    assert "seed (command line): expected `int`" in machine.stderr
    assert machine.run_ids() == []
    machine.run("-m", *RANDOM, "seed=1,wrong,3", "skip_refused=true")
    assert [manifest["spec"]["seed"] for manifest in manifests(machine)] in ([1, 3], [3, 1])
    machine.run("-m", *RANDOM, "seed=1,2", "output_dir=a,b", expect=2)
    assert "output_dir: holds for a whole sweep" in machine.stderr


def test_configs_that_have_changed_since_the_sweep_was_planned(machine: Machine, tmp_path: Path) -> None:
    preset = tmp_path / "my" / "algo" / "mine.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("name: random\nnative:\n  step_seconds: 0.0\n")
    command = ["-m", "--config-dir", str(tmp_path / "my"), "worker=random", "algo=mine", "total_timesteps=100"]
    machine.run(*command, "seed=1,2", "sweep=mine")
    preset.write_text("name: random\nnative:\n  step_seconds: 0.001\n")
    machine.run(*command, "seed=1,2", "sweep=mine", expect=2)
    assert "2 points are no longer what they were" in machine.stderr
    assert "algo.native.step_seconds: 0.0, now 0.001" in machine.stderr
    assert len(machine.run_ids()) == 2
    machine.run(*command, "seed=1,2", "sweep=mine", "replan=true")
    assert len(machine.run_ids()) == 4
    assert states(machine, "mine") == ["COMPLETED"] * 2


def test_after_kill_9_of_everything_the_same_command_finishes(machine: Machine) -> None:
    command = ["-m", *RANDOM, *SLOW, "seed=range(0,6)", "sweep=mine", "checkpoint.interval=50"]
    launcher = machine.start(*command)
    machine.wait_for(lambda: has_checkpoint_and_trains(machine))
    kill(launcher.pid)
    launcher.wait()
    machine.wait_for(lambda: not any(processes_of(machine.run_dir(run_id)) for run_id in machine.run_ids()))
    assert states(machine, "mine").count("COMPLETED") < 6

    machine.run(*command)
    assert states(machine, "mine") == ["COMPLETED"] * 6
    found = manifests(machine)
    assert len(found) == 6
    assert all([attempt["state"] for attempt in one["attempts"]].count("COMPLETED") == 1 for one in found)
    resumed = [attempt["resumed_at"] for one in found for attempt in one["attempts"] if attempt["resumed_at"]]
    assert resumed
    assert all(one["summary"]["env_steps"] == 300 for one in found)
    for one in found:
        lengths = [event["payload"]["episode_length"] for event in all_events(machine, one["run_id"], "episode")]
        assert one["summary"]["episodes"] <= len(lengths)  # what was done twice counts once


def has_checkpoint_and_trains(machine: Machine) -> bool:
    running = [run_id for run_id in machine.run_ids() if machine.manifest(run_id)["state"] == "RUNNING"]
    return any(machine.events(run_id, "checkpoint_saved") for run_id in running)


def all_events(machine: Machine, run_id: str, kind: str) -> Iterator[dict[str, Any]]:
    for file in sorted((machine.run_dir(run_id) / "attempts").glob("*/events.jsonl")):
        yield from (event for line in file.read_text().splitlines() if (event := json.loads(line))["event"] == kind)


def test_two_launchers_at_once_run_each_point_once(machine: Machine) -> None:
    command = ["-m", *RANDOM, "seed=range(0,6)", "sweep=mine"]
    launchers = [machine.start(*command) for _ in range(2)]
    for launcher in launchers:
        _, said = launcher.communicate(timeout=120)
        assert "Traceback" not in said
    machine.run("sweep", "watch", "mine")
    assert states(machine, "mine") == ["COMPLETED"] * 6
    assert [len(manifest["attempts"]) for manifest in manifests(machine)] == [1] * 6


def test_ctrl_c_stops_all_with_checkpoints_and_a_second_one_kills(machine: Machine) -> None:
    command = ["-m", *RANDOM, *SLOW, "seed=range(0,5)", "sweep=mine"]
    launcher = machine.start(*command)
    training(machine, 1)
    os.killpg(launcher.pid, signal.SIGINT)
    said, notices = launcher.communicate(timeout=60)
    assert launcher.returncode == 130
    assert "stopping with checkpoints; press Ctrl-C again to kill" in notices
    stopped = [manifest for manifest in manifests(machine) if manifest["state"] == "CANCELLED"]
    assert stopped
    assert all(manifest["checkpoints"] for manifest in stopped if manifest["summary"]["env_steps"])
    assert "sweep retry mine" in said or "sweep status mine" in said

    # a worker that does not listen
    launcher = machine.start(*command[:-1], "sweep=deaf", "+algo.native.misbehave=deaf", "resources.stop_grace=60")
    before = len(machine.run_ids())
    machine.wait_for(lambda: len(machine.run_ids()) > before and machine.events(machine.run_ids()[-1], "heartbeat"))
    os.killpg(launcher.pid, signal.SIGINT)
    time.sleep(0.5)
    os.killpg(launcher.pid, signal.SIGINT)
    launcher.communicate(timeout=20)
    assert launcher.returncode == 130


def test_a_detached_sweep_goes_on_without_its_terminal(machine: Machine) -> None:
    machine.run("-m", *RANDOM, *SLOW, "seed=1,2,3", "sweep=mine", "detach=true", "total_timesteps=100")
    assert "sweep watch mine" in machine.stderr
    assert "COMPLETED" not in states(machine, "mine")
    said = machine.run("sweep", "watch", "mine")
    assert "sweep mine: 3 completed" in said


def test_a_sweep_is_cancelled_and_tried_again(machine: Machine) -> None:
    machine.run("-m", *RANDOM, *SLOW, "seed=range(0,5)", "sweep=mine", "detach=true")
    training(machine, 1)
    said = machine.run("sweep", "cancel", "mine")
    assert "cancelled" in said
    assert "RUNNING" not in states(machine, "mine")
    assert all(manifest["state"] in ("CANCELLED", "COMPLETED") for manifest in manifests(machine))
    machine.run("sweep", "retry", "mine", "--failed")
    assert "nothing to try again" in machine.run("sweep", "retry", "mine", "--failed")
    machine.run("sweep", "retry", "mine")
    assert states(machine, "mine") == ["COMPLETED"] * 5


def test_a_failed_point_does_not_stop_the_others_unless_told_to(machine: Machine) -> None:
    sweep = ["+algo.native.misbehave=crash,null", "seed=1,2"]
    said = machine.run("-m", *RANDOM, *sweep, "sweep=mine", expect=1)
    assert "2 failed (user_error), 2 completed" in said
    assert "RuntimeError: the library broke" in machine.run("sweep", "status", "mine")
    assert all(len(manifest["attempts"]) == 1 for manifest in manifests(machine))
    machine.run("sweep", "retry", "mine", "--failed=user_error", expect=1)
    attempts = {manifest["state"]: len(manifest["attempts"]) for manifest in manifests(machine)}
    assert attempts == {"FAILED": 2, "COMPLETED": 1}
    machine.run("sweep", "retry", "mine", "--failed=user_eror", expect=2)
    assert "did you mean 'user_error'?" in machine.stderr

    fast = ["fail_fast=true", "hydra.launcher.n_jobs=1", "sweep=fast"]
    machine.run("-m", *RANDOM, *sweep, *fast, expect=1)
    assert states(machine, "fast") == ["FAILED", "NEW", "NEW", "NEW"]


def test_a_worker_that_was_killed_is_tried_once_more(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1", "+algo.native.misbehave=segfault", "sweep=mine", expect=1)
    (manifest,) = manifests(machine)
    assert [attempt["failure"] for attempt in manifest["attempts"]] == ["killed", "killed"]
    assert "killed, trying again" in machine.stderr


def test_the_library_is_imported_once_and_its_process_may_die(machine: Machine) -> None:
    launcher = machine.start("-m", *RANDOM, *SLOW, "seed=range(0,4)", "sweep=mine", "total_timesteps=100")
    worker = machine.manifest(training(machine, 1)[0])["attempts"][0]["worker_pid"]
    forked = psutil.Process(worker)
    assert "--fork-server" in forked.cmdline()
    assert forked.ppid() == launcher.pid
    (server,) = [
        child
        for child in psutil.Process(launcher.pid).children()
        if "--fork-server" in child.cmdline() and Path(child.cwd()).name == "bin"
    ]
    server.kill()
    launcher.communicate(timeout=60)
    assert launcher.returncode == 0
    assert [len(manifest["attempts"]) for manifest in manifests(machine)] == [1] * 4
    assert not psutil.pid_exists(worker)


def test_runs_have_cores_of_their_own(machine: Machine) -> None:
    launcher = machine.start("-m", *RANDOM, *SLOW, "seed=range(0,4)", "sweep=mine", "total_timesteps=200")
    many = min(4, len(os.sched_getaffinity(0)))
    running = training(machine, many)[:many]
    cores = [os.sched_getaffinity(machine.manifest(run_id)["attempts"][0]["worker_pid"]) for run_id in running]
    assert all(len(one) == 1 for one in cores)
    assert len(set[int]().union(*cores)) == many
    other = subprocess.run(
        machine.command("-m", *RANDOM, "resources.cpus=1000", "seed=1,2", "sweep=big"),
        cwd=machine.folder,
        env=machine.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 2
    assert f"resources.cpus: 1000 asked for, {len(os.sched_getaffinity(0))} here" in other.stderr
    assert not (machine.outputs / "sweeps" / "big").exists()
    launcher.communicate(timeout=60)
    assert launcher.returncode == 0


def test_a_run_is_cancelled_without_its_sweep(machine: Machine) -> None:
    launcher = machine.start("-m", *RANDOM, *SLOW, "seed=range(0,3)", "sweep=mine", "total_timesteps=200")
    run_id = training(machine, 1)[0]
    machine.run("runs", "cancel", run_id)
    launcher.communicate(timeout=60)
    assert launcher.returncode == 130
    assert sorted(states(machine, "mine")) == ["CANCELLED", "COMPLETED", "COMPLETED"]


def test_a_supervisor_whose_run_was_taken_over_leaves_it_alone(machine: Machine) -> None:
    launcher = machine.start("-m", *RANDOM, *SLOW, "seed=1", "sweep=mine", "total_timesteps=100000")
    (run_id,) = training(machine, 1)
    other = machine.run_dir(run_id) / "attempts" / "2"
    other.mkdir()
    (other / "owner.json").write_text("{}")
    before = machine.manifest(run_id)
    machine.wait_for(lambda: not processes_of(machine.run_dir(run_id)))
    launcher.communicate(timeout=60)
    assert machine.manifest(run_id)["attempts"] == before["attempts"]


@pytest.mark.parametrize(
    ("zipped", "expected"),
    [
        ("[seed,total_timesteps]", [(1, 100), (2, 200), (3, 300)]),
        ("null", [(seed, steps) for seed in (1, 2, 3) for steps in (100, 200, 300)]),
    ],
)
def test_values_are_paired_or_combined(machine: Machine, zipped: str, expected: list[tuple[int, int]]) -> None:
    sweep = ["seed=1,2,3", "total_timesteps=100,200,300", f"hydra.sweeper.zip={zipped}"]
    machine.run("-m", "worker=random", "algo=random", *sweep, "sweep=mine")
    specs = [manifest["spec"] for manifest in manifests(machine)]
    assert sorted((spec["seed"], spec["total_timesteps"]) for spec in specs) == expected


@pytest.mark.parametrize(
    ("zipped", "said"),
    [
        ("[seed,env]", "paired keys have different numbers of values: seed 3, env 1"),
        ("[seed,sed]", "'sed' is not swept"),
        ("[seed]", "lists of two or more keys are wanted"),
        ("5", "lists of two or more keys are wanted"),
        ("[5,[seed]]", "lists of two or more keys are wanted"),
    ],
)
def test_keys_that_cannot_be_paired(machine: Machine, zipped: str, said: str) -> None:
    machine.run("-m", *RANDOM, "seed=1,2,3", f"hydra.sweeper.zip={zipped}", "sweep=mine", expect=2)
    assert said in machine.stderr


def test_a_sweep_that_cannot_be_read_does_not_hide_the_others(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1", "sweep=mine")
    (machine.outputs / "sweeps" / "junk").mkdir()
    launchers = machine.outputs / "sweeps" / "mine" / "launchers"
    (launchers / "01ARZ3NDEKTSV4RRFFQ69G5FAV.json").write_text('{"owner"')
    assert [sweep["name"] for sweep in json.loads(machine.run("sweep", "ls", "--json"))] == ["mine"]
    assert "junk: not a sweep" in machine.stderr
    assert states(machine, "mine") == ["COMPLETED"]


def test_a_sweep_that_does_not_exist(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1", "sweep=mine")
    for verb in ("status", "retry", "cancel", "watch"):
        machine.run("sweep", verb, "mime", expect=2)
        assert "did you mean 'mine'?" in machine.stderr


def test_a_run_whose_directory_vanishes_lets_the_others_stop_with_checkpoints(machine: Machine) -> None:
    command = ["-m", *RANDOM, *SLOW, "seed=1,2", "sweep=mine", "total_timesteps=100000"]
    launcher = machine.start(*command, "hydra.launcher.n_jobs=2")
    first, *others = training(machine, min(2, len(os.sched_getaffinity(0))))
    (worker,) = processes_of(machine.run_dir(first))
    shutil.rmtree(machine.run_dir(first))
    kill(worker)
    _, said = launcher.communicate(timeout=60)
    assert launcher.returncode == 2
    assert "Traceback" not in said
    assert f"{first}: the end of the run could not be written" in said
    assert all(machine.manifest(run_id)["state"] == "CANCELLED" for run_id in others)
    assert all(machine.manifest(run_id)["checkpoints"] for run_id in others)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hydra.launcher.n_jobs=abc", "hydra.launcher.n_jobs: expected `int | null`, got `str`"),
        ("hydra.launcher.n_jobs=0", "hydra.launcher.n_jobs: expected `int` >= 1"),
        ("+hydra.launcher.nope=1", "hydra.launcher: object contains unknown field `nope`"),
        ("total_timesteps=range(0,0)", "sweep: has no points"),
    ],
)
def test_nonsense_is_refused_before_anything_is_on_record(machine: Machine, given: str, said: str) -> None:
    machine.run("-m", *RANDOM, "seed=1,2", given, "sweep=mine", expect=2)
    assert said in machine.stderr
    assert "Traceback" not in machine.stderr
    assert not machine.outputs.exists()


def test_what_slurm_does_not_do_is_refused(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1,2", "hydra/launcher=slurm", "fail_fast=true", "sweep=mine", expect=2)
    assert "fail_fast: jobs on Slurm know nothing of each other" in machine.stderr
    machine.run("-m", *RANDOM, "seed=1,2", "hydra/launcher=slurm", "hydra.launcher.time_min=abc", expect=2)
    assert "hydra.launcher.time_min: expected `int`, got `str`" in machine.stderr
    assert not machine.outputs.exists()


def test_hydras_own_launcher_runs_each_point(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1,2", "hydra/launcher=basic")
    assert [manifest["state"] for manifest in manifests(machine)] == ["COMPLETED"] * 2


def test_a_run_whose_manifest_is_spoiled_does_not_hold_up_the_others(machine: Machine) -> None:
    machine.run("-m", *RANDOM, "seed=1", "sweep=mine")
    (run_id,) = machine.run_ids()
    (machine.run_dir(run_id) / "manifest.json").write_text('{"x')
    for _ in range(2):
        machine.run("-m", *RANDOM, "seed=1,2", "sweep=mine", expect=2)
        assert "not a manifest" in machine.stderr
        assert "move the run's directory away to begin anew" in machine.stderr
    assert [path.name for path in (machine.run_dir(run_id) / "attempts").iterdir()] == ["1"]
    assert sorted(states(machine, "mine"))[0] == "COMPLETED"
