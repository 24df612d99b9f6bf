"""Training that was stopped and resumed is training that was not: the same numbers, to the last bit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from machine import Machine
from xuance_machine import COMPARE, TRAIN, inside, python, spec_file

OFF_POLICY = ["algo.learning_starts=400", "algo.buffer_size=1600"]
RUNS = {
    "ppo": ["total_timesteps=2048"],
    "dqn": ["algo=dqn", "total_timesteps=1200", *OFF_POLICY],
    "mappo": ["algo=mappo", "env=mpe_simple_spread", "total_timesteps=800", "algo.update_epochs=2"],
    "qmix": ["algo=qmix", "env=mpe_simple_spread", "total_timesteps=1600", *OFF_POLICY],
    "masac": ["algo=masac", "env=mpe_simple_push_continuous", "total_timesteps=1600", *OFF_POLICY],
}


def episodes(folder: Path) -> list[tuple[int, float, int]]:
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert not [event for event in events if event["event"] == "warning"]
    payloads = [event["payload"] for event in events if event["event"] == "episode"]
    return [(p["env_steps"], p["episode_return"], p["episode_length"]) for p in payloads]


def test_resumed_equals_uninterrupted(machine: Machine) -> None:
    files = [str(spec_file(machine, name, "seed=3", *overrides)) for name, overrides in RUNS.items()]
    for name, paths in inside(machine, TRAIN, *files).items():
        place = machine.folder / name
        assert paths["stopped"] != paths["whole"]
        assert inside(machine, COMPARE, "walk", paths["whole"], paths["resumed"]) == []
        assert episodes(place / "stopped") + episodes(place / "resumed") == episodes(place / "whole")


MALICIOUS = """
import os, pickle, torch
class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)
torch.save({"format": 1, "library": "xuance", "algo": "ppo", "evil": Evil()}, "zipped.pt")
pickle.dump(Evil(), open("plain.pt", "wb"))
torch.save({"weight": torch.zeros(3)}, "foreign.pt")
torch.save({"format": 1, "library": "xuance", "algo": "dqn"}, "other.pt")
"""


def test_files_that_are_no_checkpoints_are_refused_and_not_executed(machine: Machine) -> None:
    subprocess.run([python(machine), "-c", MALICIOUS], cwd=machine.folder, check=True)
    spec = json.loads(spec_file(machine, "spec").read_text())
    for name, said in [
        ("zipped.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("plain.pt", "a pickle with code in it; refused, and nothing of it was executed"),
        ("foreign.pt", "no checkpoint of this worker"),
        ("other.pt", "a checkpoint of dqn, and this run is ppo"),
    ]:
        spec["resume"]["checkpoint"] = name
        (machine.folder / "spec.json").write_text(json.dumps({**spec, "mode": "resume_training"}))
        command = [python(machine), "-m", "xuance_worker.cli", "--config", "spec.json", "--dry-run"]
        done = subprocess.run(command, cwd=machine.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"error: {name}: {said}" in done.stderr
    assert not list(Path(machine.folder).rglob("executed"))
