"""What every worker must do, ours and a stranger's. The worker is the only parameter."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from machine import REPOSITORY, Machine, processes_of

WORKERS = {
    "cleanrl": ["worker=cleanrl", "algo=ppo", "env=cartpole"],
    "rllib": ["worker=rllib", "algo=ppo", "env=cartpole"],
    "random": ["worker=random", "algo=random", "env=cartpole"],
    "script": ["worker=script", "algo=script", "env=cartpole", f"worker.script={REPOSITORY}/tests/script/cartpole.sh"],
    "tianshou": ["worker=tianshou", "algo=ppo", "env=cartpole"],
    "xuance": ["worker=xuance", "algo=ppo", "env=cartpole"],
}
STEPS = "total_timesteps=3000"


@pytest.fixture(scope="module", params=WORKERS)
def overrides(request: pytest.FixtureRequest) -> list[str]:
    return WORKERS[request.param]


@pytest.fixture(scope="module")
def trained(make_machine: Callable[[Path], Machine], overrides: list[str], tmp_path_factory: Any) -> Machine:
    """A machine on which the worker has trained once, with seed 5."""
    machine = make_machine(tmp_path_factory.mktemp("trained"))
    machine.run(*overrides, STEPS, "seed=5")
    return machine


def worker_cli(machine: Machine, overrides: list[str]) -> list[str]:
    """The worker's own command line, in its own environment."""
    name = overrides[0].removeprefix("worker=")
    installed = json.loads(machine.run("workers", "install", name, "--json"))
    return [installed["python"], "-m", f"{name}_worker.cli"]


def test_describes_itself(machine: Machine, overrides: list[str]) -> None:
    command = [*worker_cli(machine, overrides), "--describe"]
    description = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    listed = json.loads(machine.run("workers", "ls", "--json"))
    ours = next(row for row in listed if f"worker={row['worker']}" == overrides[0])
    assert sorted(description["capabilities"]["algorithms"]) == ours["algorithms"]
    assert set(description["native_parameters"]) >= {overrides[1].removeprefix("algo=")}


def test_dry_run_starts_nothing(machine: Machine, overrides: list[str]) -> None:
    answer = json.loads(machine.run(*overrides, "--dry-run"))
    assert answer["worker"]["env_id"] == answer["spec"]["env"]["id"] == "CartPole-v1"
    assert not machine.outputs.exists()


def test_trains_and_reports(trained: Machine) -> None:
    manifest = trained.manifest()
    schema = json.loads((REPOSITORY / "docs" / "schemas" / "manifest.json").read_text())
    jsonschema.validate(manifest, schema)
    assert manifest["state"] == "COMPLETED"
    assert manifest["failure"] is None
    assert manifest["attempts"][0]["exit_code"] == 0

    episodes = trained.events(kind="episode")
    summary = manifest["summary"]
    assert summary["episodes"] == len(episodes) > 20
    # CartPole gives a reward of 1 a step, so that a return is a length, and lengths add up to the steps taken.
    assert all(event["payload"]["episode_return"] == event["payload"]["episode_length"] for event in episodes)
    total = sum(event["payload"]["episode_length"] for event in episodes)
    assert 0 <= summary["env_steps"] - total <= 4 * 500
    assert 2500 <= summary["env_steps"] <= 3000
    last = [event["payload"]["episode_return"] for event in episodes[-100:]]
    assert summary["episode_return_mean"] == pytest.approx(sum(last) / len(last))
    assert summary["sps"] > 0
    assert manifest["resources"]["cpu_seconds"] > 0
    assert manifest["resources"]["peak_rss_mb"] > 10


def test_events_are_pure_and_complete(trained: Machine) -> None:
    events = trained.events()  # each line is JSON: no print of the library is among them
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["event"] == "run_started"
    assert events[-1]["event"] == "run_completed"
    telemetry = trained.manifest()["telemetry"]
    assert telemetry["skipped"] == {"bad": 0, "unknown": 0, "oversize": 0, "torn": 0}
    assert telemetry["lost"] == 0
    assert sum(telemetry["events"].values()) == len(events)


def test_sigterm_saves_a_checkpoint(machine: Machine, trained: Machine, overrides: list[str]) -> None:
    started = machine.start(*overrides, "total_timesteps=100000000", "seed=6")
    run_id = machine.wait_for_training([])
    machine.wait_for(lambda: len(episodes(machine)) >= 5)
    started.send_signal(signal.SIGTERM)
    assert started.wait(30) == 130
    started.communicate()
    manifest = machine.manifest(run_id)
    assert manifest["state"] == "CANCELLED"
    assert machine.events(run_id)[-1]["event"] == "run_cancelled"
    (checkpoint,) = manifest["checkpoints"]
    data = (machine.run_dir(run_id) / checkpoint["path"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == checkpoint["sha256"]
    assert len(data) == checkpoint["size"]
    assert checkpoint["env_steps"] == manifest["summary"]["env_steps"] > 0
    assert not processes_of(machine.run_dir(run_id))
    assert episodes(machine)[:5] != episodes(trained)[:5]  # another seed


def test_same_seed_same_episodes(machine: Machine, trained: Machine, overrides: list[str]) -> None:
    machine.run(*overrides, STEPS, "seed=5")
    assert episodes(machine) == episodes(trained)


def episodes(machine: Machine) -> list[tuple[int, float, int]]:
    payloads = [event["payload"] for event in machine.events(kind="episode")]
    return [(p["env_steps"], p["episode_return"], p["episode_length"]) for p in payloads]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[]", "schema_version"),
        ('{"schema_version": 99}', "schema_version is 99"),
    ],
)
def test_bad_spec_is_a_message(
    machine: Machine, overrides: list[str], tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "spec.json"
    if text is not None:
        file.write_text(text)
    for flags in ([], ["--dry-run"]):
        command = [*worker_cli(machine, overrides), "--config", str(file), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_bad_input_leaves_nothing(machine: Machine, overrides: list[str]) -> None:
    machine.run(*overrides, "total_timesteps=0", expect=2)
    machine.run(*overrides, "+algo.native.no_such_parameter=1", expect=2)
    assert "no such parameter" in machine.stderr
    assert not machine.outputs.exists()
