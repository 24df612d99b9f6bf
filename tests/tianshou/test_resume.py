"""Training that was stopped and resumed is training that was not: the same numbers, to the last bit."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from pathlib import Path

import pytest
from machine import Machine
from tianshou_machine import differences, newest_checkpoint, python

OFF_POLICY = ["algo.learning_starts=500", "algo.buffer_size=2000"]
RUNS = {
    "ppo": ["total_timesteps=7168"],
    "rainbow": ["algo=rainbow", "total_timesteps=4000", *OFF_POLICY, "+algo.native.hidden_sizes=[16,16]"],
    "sac": ["algo=sac", "env=pendulum", "total_timesteps=1000", *OFF_POLICY, "+algo.native.hidden_sizes=[16]"],
}


def episodes(machine: Machine, run_id: str) -> list[tuple[int, float, int]]:
    payloads = [event["payload"] for event in machine.events(run_id, "episode")]
    return [(p["env_steps"], p["episode_return"], p["episode_length"]) for p in payloads]


def stop_somewhere(machine: Machine, *overrides: str) -> str:
    """Start a run, and stop it at a random moment of its training; returns its id."""
    python(machine)  # an install is not to be waited for
    process = machine.start(*overrides)
    run_id = machine.wait_for_training(machine.run_ids())
    pause = random.uniform(0.0, 1.5)
    print(f"stopped {pause:.3f} s after its first episode")
    try:
        process.wait(pause)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    return run_id


@pytest.mark.parametrize("name", RUNS)
def test_resumed_equals_uninterrupted(machine: Machine, name: str) -> None:
    overrides = ["worker=tianshou", *RUNS[name], "seed=3", "tracking=none"]
    stopped = stop_somewhere(machine, *overrides)
    saved = machine.manifest(stopped)["checkpoints"][-1]
    assert 0 < saved["env_steps"] < machine.manifest(stopped)["spec"]["total_timesteps"]

    machine.run("mode=resume_training", "resume.run=last")
    resumed = machine.run_ids()[-1]
    (loaded,) = machine.events(resumed, "checkpoint_loaded")
    assert loaded["payload"]["env_steps"] == saved["env_steps"]
    assert not machine.manifest(resumed)["telemetry"]["warnings"]

    machine.run(*overrides)
    uninterrupted = machine.run_ids()[-1]
    assert differences(machine, newest_checkpoint(machine, resumed), newest_checkpoint(machine)) == []
    assert episodes(machine, stopped) + episodes(machine, resumed) == episodes(machine, uninterrupted)


def test_a_replay_buffer_that_is_too_large_stays_out(machine: Machine) -> None:
    overrides = ["worker=tianshou", "algo=dqn", *OFF_POLICY, "checkpoint.replay_buffer_mb=0", "tracking=none"]
    machine.run(*overrides, "total_timesteps=1000")
    assert any("checkpoint.replay_buffer_mb=0" in said for said in machine.manifest()["telemetry"]["warnings"])
    machine.run("mode=resume_training", "resume.run=last", "total_timesteps=2000")
    assert machine.manifest()["summary"]["env_steps"] == 2000


def test_what_does_not_fit_is_refused(trained: Machine, machine: Machine) -> None:
    checkpoint = newest_checkpoint(trained, trained.run_ids()[0])
    for override, said in [
        ("algo.num_envs=8", "does not fit this run: it has 4 environments, and algo.num_envs is 8"),
        ("env=acrobot", "does not fit this run: "),
    ]:
        resume = ["mode=resume_training", f"resume.checkpoint={checkpoint}", "total_timesteps=4096"]
        machine.run(*resume, override, expect=1)
        assert said in machine.manifest()["failure"]["reason"]
        assert machine.manifest()["failure"]["class"] == "user_error"


MALICIOUS = """
import os, pickle, torch
class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)
torch.save({"format": 1, "library": "tianshou", "algo": "ppo", "evil": Evil()}, "zipped.pt")
pickle.dump(Evil(), open("plain.pt", "wb"))
torch.save({"weight": torch.zeros(3)}, "foreign.pt")
"""


def test_files_that_are_no_checkpoints_are_refused_and_not_executed(trained: Machine, machine: Machine) -> None:
    run_id = trained.run_ids()[0]
    data = newest_checkpoint(trained, run_id).read_bytes()
    folder = machine.folder
    subprocess.run([python(machine), "-c", MALICIOUS], cwd=folder, check=True)
    (folder / "cut.pt").write_bytes(data[: len(data) // 2])
    (folder / "text.pt").write_text("no checkpoint")
    spec = json.loads((trained.run_dir(run_id) / "spec.json").read_text())
    for name, said in [
        ("zipped.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("plain.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("foreign.pt", "no checkpoint of this worker"),
        ("cut.pt", "cut short, or no checkpoint"),
        ("text.pt", "cut short, or no checkpoint"),
    ]:
        spec["resume"]["checkpoint"] = name
        (folder / "spec.json").write_text(json.dumps({**spec, "mode": "resume_training"}))
        command = [python(machine), "-m", "tianshou_worker.cli", "--config", "spec.json", "--dry-run"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"error: {name}: {said}" in done.stderr
    assert not list(Path(folder).rglob("executed"))
