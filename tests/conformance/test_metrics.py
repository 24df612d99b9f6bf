"""What a worker reports is what happened: episodes that are known before they are played, compared exactly.

The environment comes as a user's does: its package is installed into the worker's virtualenv. Episodes that the worker
left out, reported twice, mixed up between environments, or whose rewards it normalised, clipped, discounted or summed
as float32, are other ones.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_env import ENV_ID, LENGTHS, NAMES, length, name_and_number, rewards
from machine import ENV_PACKAGE, Machine
from mosaic_worker.datasets import read_description
from mosaic_worker.rl.dataset_arrays import load

from mosaic_pipe.workers import uv

STEPS = 960
THE_ENV = ["env=custom", f"env.id={ENV_ID}", "env.family=classic_control", "env.observation_space=vector"]
DISCRETE = [*THE_ENV, "env.action_space=discrete"]
CONTINUOUS = [*THE_ENV, "env.action_space=continuous", "+env.kwargs.continuous=true"]
ROLLOUTS = ["algo.rollout_steps=32", "algo.minibatches=2"]
OFF_POLICY = ["algo.learning_starts=300", "algo.train_interval=12", "algo.target_update_interval=60"]
WORKERS = {
    "random": (1, [*DISCRETE, "worker=random", "algo=random"]),
    "cleanrl": (1, [*DISCRETE, "worker=cleanrl", *ROLLOUTS, "algo.num_envs=1"]),
    "cleanrl-3": (3, [*DISCRETE, "worker=cleanrl", *ROLLOUTS, "algo.num_envs=3"]),
    "cleanrl-normalised": (
        3,
        [*CONTINUOUS, "worker=cleanrl", "algo=ppo_continuous_action", *ROLLOUTS, "algo.num_envs=3"],
    ),
    "tianshou": (1, [*DISCRETE, "worker=tianshou", *ROLLOUTS, "algo.num_envs=1"]),
    "tianshou-normalised": (
        3,
        [*CONTINUOUS, "worker=tianshou", *ROLLOUTS, "algo.num_envs=3", "+algo.native.return_scaling=true"],
    ),
    "xuance": (1, [*DISCRETE, "worker=xuance", *ROLLOUTS, "algo.num_envs=1"]),
    "xuance-3": (3, [*DISCRETE, "worker=xuance", *ROLLOUTS, "algo.num_envs=3"]),
    "rllib": (1, [*DISCRETE, "worker=rllib", *ROLLOUTS, "algo.num_envs=1"]),
    "tianshou-dqn": (3, [*DISCRETE, "worker=tianshou", "algo=dqn", *OFF_POLICY, "+algo.num_envs=3"]),
}
"""How many environments step together, and the overrides."""
EVALUATED = ["cleanrl-normalised", "tianshou-normalised", "xuance-3", "rllib"]


@pytest.fixture(scope="module")
def machines(make_machine: Callable[[Path], Machine], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Machine]:
    """For each case a machine on which it was run once, made when it is asked for."""
    return _Trained(make_machine, tmp_path_factory)


class _Trained(dict[str, Machine]):
    def __init__(self, make_machine: Callable[[Path], Machine], folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self._make_machine, self._folders = make_machine, folders

    def __missing__(self, case: str) -> Machine:
        _, overrides = WORKERS[case]
        machine = self._make_machine(self._folders.mktemp("metrics"))
        _install_environment(machine, case.partition("-")[0])
        machine.run(*overrides, f"total_timesteps={STEPS}", "tracking=none", "seed=4")
        self[case] = machine
        return machine


def _install_environment(machine: Machine, worker: str) -> None:
    """As docs/configuration.md tells a user to."""
    python = json.loads(machine.run("workers", "install", worker, "--json"))["python"]
    package = ["--no-deps", str(ENV_PACKAGE)]
    uv.install(Path(python).parent.parent, package, constraints=None, directory=machine.folder, torch_backend=None)


@pytest.mark.parametrize("case", WORKERS)
def test_training_is_reported_exactly(machines: dict[str, Machine], case: str) -> None:
    together, machine = WORKERS[case][0], machines[case]
    summary = machine.manifest()["summary"]
    took = summary["env_steps"]
    assert took == STEPS or (case == "rllib" and STEPS - 2 * 32 < took < STEPS)  # its iterations take some steps more

    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in machine.events(kind="episode"):
        payload = event["payload"]
        name, number = name_and_number(payload["episode_return"])
        assert number == len(found[name])  # each once, in their order
        found[name].append((payload["env_steps"], payload["episode_length"]))
    assert len(found) == together

    for name, episodes in found.items():
        lengths = [length(name, number) for number in range(len(episodes) + 1)]
        ends = list(accumulate(lengths))
        assert [steps for _, steps in episodes] == lengths[:-1]
        for (env_steps, _), end in zip(episodes, ends[:-1], strict=True):
            # at the step of all environments in which it ended, counted one by one or together
            assert (end - 1) * together < env_steps <= end * together
        assert ends[-1] * together > took  # the next one is not over yet: none is missing

    reported = [event["payload"] for event in machine.events(kind="episode")]
    assert summary["episodes"] == len(reported)
    last = [payload["episode_return"] for payload in reported[-100:]]
    assert summary["episode_return_mean"] == pytest.approx(sum(last) / len(last), rel=1e-12)


@pytest.mark.parametrize("case", WORKERS)
def test_clocks_agree(machines: dict[str, Machine], case: str) -> None:
    machine = machines[case]
    events = machine.events()
    told = [event["payload"] for event in events if event["event"] in ("episode", "metrics", "run_completed")]
    walls = [payload["wall_time"] for payload in told]
    assert walls == sorted(walls)
    assert walls[0] > 0
    assert walls[-1] <= events[-1]["time"] - events[0]["time"] + 1
    summary = machine.manifest()["summary"]
    assert summary["wall_time"] == walls[-1]
    # sps counts from the first step, which is before the first episode's end and after the start, to the last one
    rounding = 0.001
    took = summary["env_steps"]
    ends = [event["payload"]["wall_time"] for event in events if event["event"] == "episode"]
    assert took / walls[-1] - rounding <= summary["sps"] <= took / (ends[-1] - ends[0]) + rounding
    for event in machine.events(kind="metrics"):
        assert event["payload"].keys() >= {"env_steps", "wall_time", "sps"}
        assert event["payload"]["env_steps"] <= STEPS


@pytest.mark.parametrize("case", EVALUATED)
def test_evaluation_is_no_training(machines: dict[str, Machine], case: str) -> None:
    machine = machines[case]
    trained = machine.run_ids()[0]
    before = (machine.run_dir(trained) / "manifest.json").read_bytes()
    settings = ["eval.episodes=7", "eval.batch_size=2", "eval.gamma=0.5"]
    said = machine.run("mode=policy_eval", f"resume.run={trained}", *settings)
    manifest = machine.manifest()
    assert f"mean return {manifest['summary']['eval']['return_mean']:.1f} (evaluation)" in said
    assert (machine.run_dir(trained) / "manifest.json").read_bytes() == before
    assert not machine.events(kind="episode")
    assert manifest["summary"]["episodes"] == 0
    assert manifest["summary"]["episode_return_mean"] is None

    played: dict[int, list[Any]] = defaultdict(list)
    for episode in manifest["summary"]["eval"]["episodes"]:
        name, number = name_and_number(episode["episode_return"])
        assert episode["length"] == length(name, number)
        discounted = sum(0.5**step * reward for step, reward in enumerate(rewards(name, number)))
        assert episode["discounted_return"] == discounted
        played[name].append(number)
    assert sorted(played.values()) == [[0, 1, 2], [0, 1, 2, 3]]


@pytest.mark.parametrize("case", EVALUATED)
def test_what_is_recorded_is_what_happened(machines: dict[str, Machine], case: str) -> None:
    machine, steps = machines[case], 40
    machine.run("mode=collect", f"resume.run={machine.run_ids()[0]}", f"collect.steps={steps}")
    box: dict[str, Any] = {"type": "box", "shape": [4], "dtype": "float32"}
    continuous = {"type": "box", "shape": [1], "dtype": "float32", "low": -1.0, "high": 1.0}
    acts = continuous if "+env.kwargs.continuous=true" in WORKERS[case][1] else {"type": "discrete", "n": 2, "start": 0}
    folder = machine.run_dir() / "dataset"
    recorded = load(folder, {"observation_space": box, "action_space": acts}, read_description(folder)["sha256"])

    name = round(float(recorded["observations"][0, 1]) * NAMES)
    row = number = 0
    while row < steps:
        known, ends = rewards(name, number), min(row + length(name, number), steps)
        over = row + len(known) <= steps
        assert recorded["rewards"][row:ends].tolist() == known[: ends - row]
        for array, since in (("observations", 0), ("next_observations", 1)):
            seen = [[(i + since) / max(LENGTHS), name / NAMES, number % 2, 1.0] for i in range(ends - row)]
            assert np.array_equal(recorded[array][row:ends], np.array(seen, np.float32))
        going_on = [False] * (ends - row - 1)
        terminated = over and number % 2 == 0
        assert recorded["terminations"][row:ends].tolist() == [*going_on, terminated]
        assert recorded["truncations"][row:ends].tolist() == [*going_on, not terminated]
        row, number = ends, number + 1
