"""CleanRL as a worker: unmodified, it gives what upstream gives by hand."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from cleanrl_machine import python
from machine import Machine


@pytest.mark.parametrize(
    ("overrides", "arguments"),
    [
        (["algo=ppo", "env=cartpole", "seed=4"], ["ppo", "--env-id", "CartPole-v1", "--clip-vloss=False"]),
        (["-m", "algo=dqn", "seed=4,5", "algo.learning_starts=1000"], ["dqn", "--learning-starts", "1000"]),
        (
            ["-m", "algo=ppo_continuous_action", "env=pendulum", "seed=4,5"],
            ["ppo_continuous_action", "--env-id", "Pendulum-v1"],
        ),
    ],
    ids=["ppo", "dqn, forked", "ppo_continuous_action, forked"],
)
def test_the_same_numbers_as_upstream_by_hand(
    machine: Machine, tmp_path: Path, overrides: list[str], arguments: list[str]
) -> None:
    """gym 0.23 itself by hand, Gymnasium under gym's API in the worker: the same episodes, to the last digit."""
    machine.run(*overrides, "worker=cleanrl", "total_timesteps=4096")
    (run_id,) = [run_id for run_id in machine.run_ids() if machine.manifest(run_id)["spec"]["seed"] == 4]
    ours = (machine.run_dir(run_id) / "attempts" / "1" / "worker.log").read_text()
    script, *flags = arguments
    command = [python(machine), "-m", f"cleanrl.{script}", "--seed", "4", "--total-timesteps", "4096", *flags]
    variables = {**machine.variables, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    theirs = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True).stdout
    episodes = re.findall(r"^global_step=.*$", theirs, re.MULTILINE)
    assert len(episodes) > 10
    assert re.findall(r"^global_step=.*$", ours, re.MULTILINE) == episodes


def test_native_parameters_and_null_reach_the_script(machine: Machine) -> None:
    overrides = ["+algo.native.torch_deterministic=false", "algo.target_kl=0.02", "algo.anneal_learning_rate=false"]
    arguments = json.loads(machine.run("worker=cleanrl", *overrides, "--dry-run"))["worker"]["arguments"]
    assert {"--torch-deterministic=False", "--target-kl=0.02", "--anneal-lr=False", "--cuda=False"} <= set(arguments)
    arguments = json.loads(machine.run("worker=cleanrl", "algo=c51", "algo.v_min=-7.5", "--dry-run"))["worker"][
        "arguments"
    ]
    assert "--v-min=-7.5" in arguments
    machine.run("worker=cleanrl", *overrides, "total_timesteps=600")


def test_without_tensorboard_nothing_is_written_for_it(machine: Machine) -> None:
    machine.run("worker=cleanrl", "tracking=none", "total_timesteps=1000")
    assert machine.manifest()["tracking"]["tensorboard"] is None
    assert not list(machine.run_dir().rglob("*tfevents*"))
    assert machine.events(kind="metrics")


def test_a_budget_below_one_rollout_is_refused(machine: Machine) -> None:
    machine.run("worker=cleanrl", "total_timesteps=500", "--dry-run", expect=2)
    assert "total_timesteps: 500 is less than one rollout of ppo, num_envs x rollout_steps = 512" in machine.stderr
    machine.run("worker=cleanrl", "total_timesteps=500", expect=1)
    assert machine.manifest()["failure"]["class"] == "user_error"
    machine.run("worker=cleanrl", "total_timesteps=500", "algo.num_envs=2")


def test_an_environment_that_does_not_exist(machine: Machine) -> None:
    machine.run("worker=cleanrl", "env.id=CartPoleX-v1", expect=1)
    assert "Did you mean: `CartPole`" in machine.stderr
    assert machine.manifest()["failure"]["class"] == "user_error"


def test_arguments_of_the_environment_reach_it(machine: Machine) -> None:
    machine.run(
        "worker=cleanrl", "env=pendulum", "algo=ppo_continuous_action", "+env.kwargs.g=0.0", "total_timesteps=2048"
    )
    machine.run("worker=cleanrl", "env=pendulum", "algo=ppo_continuous_action", "total_timesteps=2048")
    first, second = ([e["payload"]["episode_return"] for e in machine.events(r, "episode")] for r in machine.run_ids())
    assert first != second
    machine.run("worker=cleanrl", "+env.kwargs.no_such_argument=1", expect=1)
    assert "no_such_argument" in machine.manifest()["failure"]["reason"]
