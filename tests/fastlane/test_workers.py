"""A run of each worker, watched while it trains; and that it trains as it would have."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from audience import HERE, PATIENCE, Audience
from machine import REPOSITORY, Machine
from mosaic_worker.fastlane import layout

SHORT = ["tracking=none"]


def start(machine: Machine, *overrides: str) -> tuple[Any, Audience]:
    """A run that goes on, and who looks at it."""
    before = machine.run_ids()
    process = machine.start(*overrides, *SHORT)
    run_id = machine.wait_for(lambda: [one for one in machine.run_ids() if one not in before], PATIENCE)[0]
    path = Path(layout.FOLDER, f"{layout.PREFIX}{run_id}_1")
    return process, Audience(machine.wait_for(lambda: path.exists() and path, PATIENCE))


def has_changed(audience: Audience, lanes: int, pictures: int = 4) -> bool:
    return all(len({frame.pixels for frame in audience.seen[lane]}) >= pictures for lane in range(lanes))


def cancel(machine: Machine, process: Any) -> None:
    machine.run("runs", "cancel", machine.run_ids()[-1])
    assert process.wait(PATIENCE) == 130
    assert not list(Path(layout.FOLDER).glob(f"{layout.PREFIX}{machine.run_ids()[-1]}*"))


def episodes(machine: Machine, run_id: str) -> list[dict[str, Any]]:
    found = [event["payload"] for event in machine.events(run_id, "episode")]
    for payload in found:
        del payload["wall_time"]
    return found


def checkpoint(machine: Machine, run_id: str) -> Path:
    return machine.run_dir(run_id) / str(machine.manifest(run_id)["checkpoints"][-1]["path"])


def differences(machine: Machine, one: str, other: str) -> Any:
    """Between what two runs of CleanRL learned, to the last bit."""
    python = json.loads(machine.run("workers", "install", "cleanrl", "--json"))["python"]
    files = [str(checkpoint(machine, run)) for run in (one, other)]
    command = [python, str(REPOSITORY / "tests" / "cleanrl" / "inside.py"), "walk", *files]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_cleanrl_learns_the_same_off_unwatched_and_watched(machine: Machine) -> None:
    spec = ["worker=cleanrl", "total_timesteps=8192"]
    machine.run(*spec, *SHORT, "fastlane=off")
    machine.run(*spec, *SHORT)
    process, audience = start(machine, *spec)
    audience.watch_until(lambda: has_changed(audience, 4))
    frame = audience.seen[3][-1]
    assert (frame.label, frame.height, frame.width, frame.last_reward) == ("CartPole-v1", 400, 600, 1.0)
    audience.watch_until(lambda: process.poll() is not None)
    off, unwatched, watched = machine.run_ids()
    assert episodes(machine, off) == episodes(machine, unwatched) == episodes(machine, watched)
    assert differences(machine, off, unwatched) == differences(machine, off, watched) == []
    assert audience.seen[0][-1].step_rate_hz > 1
    assert audience.seen[0][-1].rolling_return > 5


def test_a_curriculum_whose_pictures_grow(machine: Machine) -> None:
    stages = ["curriculum.stages.0.until=steps>=500", "curriculum.stages.1.until=steps>=500"]
    spec = ["worker=cleanrl", "curriculum=doorkey_short", "total_timesteps=2560", "algo.num_envs=2", *stages]
    machine.run(*spec, *SHORT, "fastlane=off", "+env.kwargs.max_steps=100")
    process, audience = start(machine, *spec, "+env.kwargs.max_steps=100")
    audience.watch_until(lambda: process.poll() is not None)
    sizes = [(frame.label, frame.height) for frame in audience.seen[0]]
    assert list(dict.fromkeys(sizes)) == [
        ("MiniGrid-DoorKey-5x5-v0", 160),
        ("MiniGrid-DoorKey-8x8-v0", 256),
        ("MiniGrid-DoorKey-16x16-v0", 512),
    ]
    off, watched = machine.run_ids()
    assert machine.manifest(off)["stages"] == machine.manifest(watched)["stages"]
    assert episodes(machine, off) == episodes(machine, watched)
    assert differences(machine, off, watched) == []


@pytest.mark.parametrize(
    ("overrides", "lanes", "label"),
    [
        (["worker=tianshou"], 4, "CartPole-v1"),
        (["worker=xuance", "algo=mappo", "env=mpe_simple_spread", "algo.num_envs=2"], 2, "simple_spread_v3"),
        (["worker=rllib", "resources.cpus=2", "algo.num_envs=2"], 2, "CartPole-v1"),
    ],
    ids=["tianshou", "xuance", "rllib"],
)
def test_other_libraries(machine: Machine, overrides: list[str], lanes: int, label: str) -> None:
    machine.variables["NUMBA_DISABLE_JIT"] = "1"
    process, audience = start(machine, *overrides, "total_timesteps=100_000_000")
    audience.watch_until(lambda: has_changed(audience, lanes))
    assert {audience.status(lane).label for lane in audience.claimed()} == {label}
    cancel(machine, process)


def test_a_script_s_programs_are_filmed_and_what_fails_is_a_warning(machine: Machine) -> None:
    python = json.loads(machine.run("workers", "install", "xuance", "--json"))["python"]
    actor = f"PYTHONPATH=$PYTHONPATH:{REPOSITORY}/workers/mosaic_worker {python} {HERE}/actor.py Raising 1"
    script = f"#!/bin/bash\n{actor} > /dev/null &\n{python} {HERE}/cast.py sync\n"
    (machine.folder / "train.sh").write_text(script)
    process, audience = start(machine, "worker=script", "worker.script=./train.sh", "resources.heartbeat_interval=0.2")
    notes = {"drawing failed: ValueError: no brush", ""}

    def all_is_said() -> bool:
        filmed = [lane for lane in audience.claimed() if len(audience.seen[lane]) > 5]
        return {audience.status(lane).note for lane in audience.claimed()} == notes and len(filmed) == 2

    audience.watch_until(all_is_said)
    said = "no live frames of counting: drawing failed: ValueError: no brush"
    audience.watch_until(lambda: [one["payload"]["message"] for one in machine.events(kind="warning")] == [said])
    cancel(machine, process)
