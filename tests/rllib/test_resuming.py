"""Resumed runs of every algorithm do what the uninterrupted ones would have done, as far as they can."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from machine import REPOSITORY, Machine

RESUMING = Path(__file__).parent / "resuming.py"
COMPARE = REPOSITORY / "tests" / "cleanrl" / "inside.py"
STOP = 250
OFF_POLICY = ["algo.learning_starts=100", "algo.buffer_size=200", "algo.batch_size=32", "total_timesteps=400"]
ALGORITHMS = {
    "dqn": ["algo=dqn", "env=cartpole", *OFF_POLICY, "algo.target_update_interval=100"],
    "sac": ["algo=sac", "env=pendulum", *OFF_POLICY, "algo.batch_size=8", "+algo.train_interval=10"],
    "impala": ["algo=impala", "env=cartpole", "total_timesteps=1500"],
    "appo": ["algo=appo", "env=cartpole", "total_timesteps=1500"],
}


@pytest.fixture(scope="module")
def python(make_machine: Callable[[Path], Machine], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The worker's interpreter."""
    machine = make_machine(tmp_path_factory.mktemp("python"))
    found: str = json.loads(machine.run("workers", "install", "rllib", "--json"))["python"]
    return found


@pytest.fixture(scope="module")
def found(
    make_machine: Callable[[Path], Machine], python: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What became of each algorithm; all of them in one Ray."""
    machine, files = make_machine(tmp_path_factory.mktemp("resuming")), []
    for name, overrides in ALGORITHMS.items():
        spec = json.loads(machine.run("worker=rllib", "seed=3", "tracking=none", *overrides, "--dry-run"))["spec"]
        file = machine.folder / f"{name}.json"
        file.write_text(json.dumps(spec))
        files.append(str(file))
    command = [python, str(RESUMING), str(STOP), *files]
    done = subprocess.run(command, env=machine.variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("algo", ["dqn", "sac"])
def test_resumed_equals_uninterrupted_with_its_buffer(found: dict[str, Any], python: str, algo: str) -> None:
    whole, (first, second) = found[algo]["whole"], found[algo]["parts"]
    assert first + second == whole
    assert first
    assert second
    assert not found[algo]["warnings"]
    command = [python, str(COMPARE), "walk", *found[algo]["checkpoints"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # the episode under way at the stop is two in the buffer, and metrics have clocks
    differ = [
        where for where in json.loads(done.stdout) if "metrics_logger" not in where and ".buffer.rows" not in where
    ]
    assert differ == []


@pytest.mark.parametrize("algo", ["impala", "appo"])
def test_asynchronous_ones_go_on(found: dict[str, Any], algo: str) -> None:
    first, second = found[algo]["parts"]
    assert first == found[algo]["whole"][: len(first)]  # one env runner: the same seed, the same episodes
    assert first[-1][0] >= STOP
    assert second[0][0] > first[-1][0]
    assert second[-1][0] > 1200
    assert not found[algo]["warnings"]
