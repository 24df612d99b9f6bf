"""``mosaic-pipe runs …``."""

from __future__ import annotations

import json
import time

from machine import Machine, processes_of

RANDOM = ["worker=random", "algo=random", "env=cartpole", "total_timesteps=300"]
ENDLESS = ["worker=random", "algo=random", "env=cartpole", "total_timesteps=100000000"]


def test_listing_filtering_showing_and_deleting(machine: Machine) -> None:
    assert "no runs in" in machine.run("runs", "ls")
    machine.run(*RANDOM, "sweep=night")
    machine.run(*RANDOM, "env=acrobot", "seed=2", "total_timesteps=600")
    rows = json.loads(machine.run("runs", "ls", "--json"))
    wanted = {"run_id", "spec_hash", "state", "worker", "algo", "env", "seed", "sweep", "env_steps"}
    assert all(wanted | {"episode_return_mean"} <= row.keys() for row in rows)
    assert [(row["env"], row["seed"], row["sweep"]) for row in rows] == [
        ("CartPole-v1", 1, "night"),
        ("Acrobot-v1", 2, None),
    ]
    table = machine.run("runs", "ls")
    assert all(row["run_id"] in table for row in rows)

    def count(*filters: str) -> int:
        return len(json.loads(machine.run("runs", "ls", "--json", *filters)))

    assert count("--state", "completed") == 2
    assert count("--state", "FAILED") == 0
    assert count("--worker", "random") == 2
    assert count("--algo", "ppo") == 0
    assert count("--env", "Acrobot-v1") == 1
    assert count("--sweep", "night") == 1

    first = rows[0]["run_id"]
    assert json.loads(machine.run("runs", "show", first, "--json")) == machine.manifest(first)
    shown = machine.run("runs", "show", "last")
    assert "random random on Acrobot-v1, seed 2" in shown
    assert "600 of 600" in shown
    machine.run("runs", "rm", first)
    assert machine.run_ids() == [rows[1]["run_id"]]


def test_a_run_that_goes_on_can_be_followed_and_cancelled(machine: Machine) -> None:
    started = machine.start(*ENDLESS)
    run_id = machine.wait_for_training([])
    machine.run("runs", "rm", "last", expect=2)
    assert "cancel it first" in machine.stderr
    (row,) = json.loads(machine.run("runs", "ls", "--state", "running", "--json"))
    assert row["run_id"] == run_id
    tail = machine.start("runs", "tail", "last")
    time.sleep(1)
    assert json.loads(machine.run("runs", "cancel", run_id, "--json")) == {"run_id": run_id, "state": "CANCELLED"}
    assert started.wait(10) == 130
    started.communicate()
    assert tail.wait(10) == 0
    lines = tail.communicate()[0].splitlines()
    assert "run_cancelled" in lines[-1]
    assert any("episode_return=" in line for line in lines)
    assert not processes_of(machine.run_dir(run_id))
    machine.run("runs", "cancel", "last", expect=2)
    assert "has ended already: CANCELLED" in machine.stderr


def test_the_log_and_the_raw_events(machine: Machine) -> None:
    machine.run(*RANDOM, "+algo.native.misbehave=babble")
    assert len(machine.run("runs", "tail", "last", "-n", "3", "--log").splitlines()) == 3
    events = [json.loads(line) for line in machine.run("runs", "tail", "last", "-n", "1000", "--json").splitlines()]
    assert events == machine.events()


def test_names_that_do_not_exist(machine: Machine) -> None:
    machine.run(*RANDOM)
    for command in ("show", "tail", "cancel", "rm"):
        machine.run("runs", command, "NOPE", expect=2)
        assert "no run 'NOPE'" in machine.stderr
        machine.run("runs", command, "../..", expect=2)
    machine.run("runs", "sow", expect=2)
    machine.run("runs", "ls", "--state", "BROKEN", expect=2)
