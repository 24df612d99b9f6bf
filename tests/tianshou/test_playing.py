"""``mode=policy_eval`` and ``mode=interactive`` with what Tianshou has trained."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from machine import Machine

KEYS = {
    "episode_count",
    "return_mean",
    "return_std",
    "return_iqm",
    "return_median",
    "return_min",
    "return_max",
    "discounted_return_mean",
    "length_mean",
    "deterministic",
    "gamma",
    "batches",
    "episodes",
}


def evaluate(machine: Machine, *overrides: str) -> dict[str, Any]:
    machine.run("mode=policy_eval", "resume.run=" + machine.run_ids()[0], *overrides)
    found: dict[str, Any] = machine.manifest()["summary"]["eval"]
    assert json.loads((machine.run_dir() / "eval.json").read_text()) == found
    return found


def test_a_trained_policy_plays(trained: Machine) -> None:
    machine = trained
    first = evaluate(machine, "eval.episodes=6", "eval.batch_size=3")
    assert set(first) == KEYS
    for episode in first["episodes"]:  # a reward of 1 at each step
        assert episode["length"] == episode["episode_return"]
    assert evaluate(machine, "eval.episodes=3", "eval.batch_size=1")["episodes"] == first["episodes"][:3]

    commands = [{"cmd": "reset", "seed": 1}, *[{"cmd": "step"}] * int(first["episodes"][0]["length"]), {"cmd": "stop"}]
    talk = subprocess.run(
        machine.command("mode=interactive", "resume.run=" + machine.run_ids()[0]),
        input="\n".join(map(json.dumps, commands)),
        cwd=machine.folder,
        env=machine.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    replies = [json.loads(line) for line in talk.stdout.splitlines()]
    assert replies[0]["type"] == "init"
    assert replies[-2]["type"] == "episode_done"
    assert replies[-2]["episode_return"] == first["episodes"][0]["episode_return"]  # the same seed, the same policy
    assert replies[-1] == {"type": "stopped"}
