"""Training that was stopped and resumed is training that was not: the same numbers, to the last bit."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest
from cleanrl_machine import ask, newest_checkpoint, python
from machine import Machine

OFF_POLICY = ["algo.learning_starts=500", "algo.buffer_size=5000"]
STAGES = [f"curriculum.stages.{number}.until=steps>={steps}" for number, steps in enumerate((2200, 1700, 1700))]
RUNS = {
    "ppo": ["total_timesteps=16384"],
    "ppo-minigrid": ["env=minigrid_doorkey_5x5", "total_timesteps=9216", "algo.update_epochs=1"],
    "dqn": ["algo=dqn", "total_timesteps=13000", *OFF_POLICY],
    "ppo_continuous_action": ["algo=ppo_continuous_action", "env=pendulum", "total_timesteps=8192"],
    "sac_continuous_action": ["algo=sac_continuous_action", "env=pendulum", "total_timesteps=1100", *OFF_POLICY],
    "curriculum": ["curriculum=babyai_doorkey", *STAGES, "total_timesteps=11000", "algo.update_epochs=1"],
}


def stop_somewhere(machine: Machine, *overrides: str) -> str:
    """Start a run, and stop it at a random moment of its training; returns its id."""
    before = machine.run_ids()
    process = machine.start(*overrides)
    run_id = machine.wait_for_training(before)
    pause = random.uniform(0.0, 0.8)
    print(f"stopped {pause:.3f} s after its first episode")
    try:
        process.wait(pause)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert f"mode=resume_training resume.run={run_id}" in said
    return run_id


@pytest.mark.parametrize("name", RUNS)
def test_resumed_equals_uninterrupted(machine: Machine, name: str) -> None:
    overrides = ["worker=cleanrl", *RUNS[name], "seed=3"]
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
    found = ask(machine, "differences", newest_checkpoint(machine, resumed), newest_checkpoint(machine))
    if name == "ppo_continuous_action":  # draws nothing from its action spaces, and does not seed them
        found = [place for place in found if ".action_spaces." not in place]
    assert found == []

    def episodes(run_id: str) -> list[tuple[int, float, int]]:
        payloads = [event["payload"] for event in machine.events(run_id, "episode")]
        return [(p["env_steps"], p["episode_return"], p["episode_length"]) for p in payloads]

    assert episodes(stopped) + episodes(resumed) == episodes(uninterrupted)
    if name == "curriculum":
        stages = [stage["env_id"] for run_id in (stopped, resumed) for stage in machine.manifest(run_id)["stages"]]
        whole = [stage["env_id"] for stage in machine.manifest(uninterrupted)["stages"]]
        assert list(dict.fromkeys(stages)) == whole
        assert len(whole) == 4


def test_a_longer_budget_and_other_settings_on_top(machine: Machine) -> None:
    machine.run("worker=cleanrl", "env=acrobot", "algo.gamma=0.97", "total_timesteps=2048", "+labels.note=first")
    first = machine.manifest()
    machine.run("mode=resume_training", f"resume.run={first['run_id']}", "total_timesteps=4096", "algo.ent_coef=0.02")
    second = machine.manifest()
    assert second["spec"]["env"] == first["spec"]["env"]
    assert second["spec"]["algo"] == {**first["spec"]["algo"], "ent_coef": 0.02}
    assert second["spec"]["labels"] == {"note": "first"}
    assert second["spec"]["resume"]["run"] == first["run_id"]
    assert second["spec"]["resume"]["sha256"] == first["checkpoints"][-1]["sha256"]
    assert second["summary"]["env_steps"] == 4096

    machine.run("mode=resume_training", f"resume.checkpoint={newest_checkpoint(machine)}", "total_timesteps=6144")
    assert machine.manifest()["spec"]["resume"]["run"] == second["run_id"]
    assert machine.manifest()["summary"]["env_steps"] == 6144


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["total_timesteps=10240", "checkpoint.interval=2000"], [8000, 10000, 10240]),
        (["algo=dqn", "algo.learning_starts=100", "total_timesteps=1000", "checkpoint.interval=333"], [666, 999, 1000]),
    ],
    ids=["nested loops", "one loop"],
)
def test_checkpoints_at_an_interval_and_the_last_kept(
    machine: Machine, overrides: list[str], expected: list[int]
) -> None:
    machine.run("worker=cleanrl", *overrides, "checkpoint.keep=3")
    assert [checkpoint["env_steps"] for checkpoint in machine.manifest()["checkpoints"]] == expected
    on_disk = sorted(path.name for path in (machine.run_dir() / "checkpoints").iterdir())
    assert on_disk == sorted(f"step-{steps}.pt" for steps in expected)


def test_a_replay_buffer_that_is_too_large_stays_out(machine: Machine) -> None:
    overrides = ["worker=cleanrl", "algo=dqn", *OFF_POLICY, "checkpoint.replay_buffer_mb=0"]
    machine.run(*overrides, "total_timesteps=3000")
    assert any("checkpoint.replay_buffer_mb=0" in said for said in machine.manifest()["telemetry"]["warnings"])
    assert "rb" not in ask(machine, "facts", newest_checkpoint(machine))["values"]
    machine.run("mode=resume_training", "resume.run=last", "total_timesteps=6000")
    assert machine.manifest()["summary"]["env_steps"] == 6000


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["mode=resume_training"], "mode=resume_training starts from a checkpoint\n  set resume.run=last"),
        (["mode=resume_training", "resume.run=last"], "no run has a checkpoint yet"),
        (["mode=resume_training", "resume.run=01ARZ"], "no run '01ARZ'"),
        (["mode=resume_training", "resume.checkpoint=models/nowhere.pt"], "nowhere.pt: cannot be read: No such file"),
        (["resume.run=last"], "mode=train starts from nothing\n  set mode=resume_training"),
    ],
)
def test_nothing_to_resume_is_a_message(machine: Machine, overrides: list[str], said: str) -> None:
    (machine.folder / "manifest.json").write_text("{}")  # of something else
    machine.run("worker=cleanrl", *overrides, expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()


def test_what_does_not_fit_is_refused(machine: Machine) -> None:
    machine.run("worker=cleanrl", "total_timesteps=1024")
    checkpoint = newest_checkpoint(machine)
    for override, said in [
        ("total_timesteps=1024", "the checkpoint has used up this budget"),
        ("algo.num_envs=8", "does not fit this run: obs: its shape is (128, 8, 4), (128, 4, 4) in the checkpoint"),
        ("env=acrobot", "does not fit this run: obs: its shape is (128, 4, 6), (128, 4, 4) in the checkpoint"),
        ("algo=dqn", "a checkpoint of ppo, and this run is dqn"),
    ]:
        budget = [] if override.startswith("total") else ["total_timesteps=4096"]
        machine.run("mode=resume_training", f"resume.checkpoint={checkpoint}", *budget, override, expect=1)
        assert said in machine.manifest()["failure"]["reason"]
        assert machine.manifest()["failure"]["class"] == "user_error"


MALICIOUS = """
import os, pickle, sys, torch
class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)
torch.save({"format": 2, "algo": "ppo", "evil": Evil()}, "zipped.pt")
pickle.dump(Evil(), open("plain.pt", "wb"))
"""


def test_files_that_are_no_checkpoints_are_refused_and_not_executed(machine: Machine) -> None:
    machine.run("worker=cleanrl", "total_timesteps=512")
    own = newest_checkpoint(machine)
    data = own.read_bytes()
    folder = machine.folder
    subprocess.run([python(machine), "-c", MALICIOUS], cwd=folder, check=True)
    (folder / "cut.pt").write_bytes(data[: len(data) // 2])
    (folder / "text.pt").write_text("no checkpoint")
    (folder / "empty.pt").write_bytes(b"")
    names = "zipped.pt,plain.pt,cut.pt,text.pt,empty.pt"
    machine.run("-m", "worker=cleanrl", "mode=resume_training", f"resume.checkpoint={names}", expect=1)
    reasons = [failure["reason"] for run in machine.run_ids() if (failure := machine.manifest(run)["failure"])]
    assert len(reasons) == 5
    for name, said in [
        ("zipped.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("plain.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("cut.pt", "cut short, or no checkpoint"),
        ("text.pt", "cut short, or no checkpoint"),
        ("empty.pt", "cut short, or no checkpoint"),
    ]:
        assert any(f"{name}: {said}" in reason for reason in reasons)
    assert not list(Path(folder).rglob("executed"))

    own.write_bytes(data[:-100])  # the run's own: known before anything starts
    machine.run("mode=resume_training", f"resume.run={own.parent.parent.name}", "total_timesteps=1024", expect=2)
    assert "is not what the run wrote: cut short or changed since" in machine.stderr
