"""Training, resuming, evaluation and interaction with RLlib: the same numbers, to the last bit."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from machine import REPOSITORY, Machine

COMPARE = REPOSITORY / "tests" / "cleanrl" / "inside.py"
RUN = ["worker=rllib", "seed=3", "total_timesteps=5000", "tracking=none"]


def python(machine: Machine) -> str:
    found: str = json.loads(machine.run("workers", "install", "rllib", "--json"))["python"]
    return found


def newest_checkpoint(machine: Machine, run_id: str | None = None) -> Path:
    return machine.run_dir(run_id) / str(machine.manifest(run_id)["checkpoints"][-1]["path"])


def episodes(machine: Machine, run_id: str) -> list[tuple[int, float, int]]:
    payloads = [event["payload"] for event in machine.events(run_id, "episode")]
    return [(p["env_steps"], p["episode_return"], p["episode_length"]) for p in payloads]


def talk(machine: Machine, run_id: str, seed: int, steps: int) -> list[dict[str, Any]]:
    commands = [{"cmd": "reset", "seed": seed}, *[{"cmd": "step"}] * steps, {"cmd": "stop"}]
    done = subprocess.run(
        machine.command("mode=interactive", "resume.run=" + run_id),
        input="\n".join(map(json.dumps, commands)),
        cwd=machine.folder,
        env=machine.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_resumed_equals_uninterrupted_and_plays(machine: Machine) -> None:
    interpreter = python(machine)
    process = machine.start(*RUN)
    machine.wait_for(lambda: machine.events(machine.run_ids()[0], "episode"), seconds=180)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    (stopped,) = machine.run_ids()
    assert machine.manifest(stopped)["attempts"][0]["exit_code"] == 75
    saved = machine.manifest(stopped)["checkpoints"][-1]
    assert 0 < saved["env_steps"] < 4000

    machine.run("mode=resume_training", "resume.run=last")
    resumed = machine.run_ids()[-1]
    (loaded,) = machine.events(resumed, "checkpoint_loaded")
    assert loaded["payload"]["env_steps"] == saved["env_steps"]
    assert not machine.manifest(resumed)["telemetry"]["warnings"]

    machine.run(*RUN)
    uninterrupted = machine.run_ids()[-1]
    assert episodes(machine, stopped) + episodes(machine, resumed) == episodes(machine, uninterrupted)
    checkpoints = [str(newest_checkpoint(machine, run)) for run in (resumed, uninterrupted)]
    command = [interpreter, str(COMPARE), "walk", *checkpoints]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    timers_apart = [where for where in json.loads(done.stdout) if "metrics_logger" not in str(where)]
    assert timers_apart == []

    machine.run("mode=policy_eval", "resume.run=" + resumed, "eval.episodes=4", "eval.batch_size=2")
    played = machine.manifest()["summary"]["eval"]["episodes"]
    first = played[0]
    replies = talk(machine, resumed, first["seed"], int(first["length"]))
    assert replies[0]["type"] == "init"
    assert replies[-2]["type"] == "episode_done"
    assert replies[-2]["episode_return"] == first["episode_return"]  # the same seed, the same policy
    assert replies[-1] == {"type": "stopped"}


MALICIOUS = """
import os, pickle, torch
class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)
torch.save({"format": 1, "library": "rllib", "algo": "ppo", "evil": Evil()}, "zipped.pt")
pickle.dump(Evil(), open("plain.pt", "wb"))
torch.save({"weight": torch.zeros(3)}, "foreign.pt")
"""


def test_files_that_are_no_checkpoints_are_refused_and_not_executed(machine: Machine) -> None:
    interpreter, folder = python(machine), machine.folder
    subprocess.run([interpreter, "-c", MALICIOUS], cwd=folder, check=True)
    spec = json.loads(machine.run("worker=rllib", "--dry-run"))["spec"]
    for name, said in [
        ("zipped.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("plain.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("foreign.pt", "no checkpoint of this worker"),
    ]:
        spec["resume"]["checkpoint"] = name
        (folder / "spec.json").write_text(json.dumps({**spec, "mode": "resume_training"}))
        command = [interpreter, "-m", "rllib_worker.cli", "--config", "spec.json", "--dry-run"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"error: {name}: {said}" in done.stderr
    assert not list(folder.rglob("executed"))


def test_groups_of_agents_have_policies_of_their_own(machine: Machine) -> None:
    hunters = ["adversary_0", "adversary_1", "adversary_2"]
    machine.run("worker=rllib", "env=mpe_simple_tag", "+algo.policies=by_group", "total_timesteps=600", "tracking=none")
    trained = machine.run_ids()[-1]
    found = machine.events(kind="episode")
    assert len(found) >= 20
    for event in found:
        payload = event["payload"]
        returns = payload["agent_returns"]
        assert sorted(returns) == [*hunters, "agent_0"]
        assert returns["adversary_0"] == returns["adversary_1"] == returns["adversary_2"]  # they share a reward
        assert abs(sum(returns.values()) - payload["episode_return"]) < 1e-9
        assert payload["episode_length"] == 25
    told = machine.events(kind="metrics")[-1]["payload"]
    for group in ("adversary", "agent"):
        assert f"learners/{group}/policy_loss" in told
        assert f"env_runners/module_episode_returns_mean/{group}" in told
    assert not any(name.startswith("learners/adversary_") for name in told)

    machine.run("mode=policy_eval", f"resume.run={trained}", "eval.episodes=2")
    (played, _) = machine.events(kind="eval_episode")
    assert sorted(played["payload"]["agent_returns"]) == [*hunters, "agent_0"]
