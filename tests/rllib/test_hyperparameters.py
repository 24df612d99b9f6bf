"""Canonical hyperparameters in RLlib's terms; what it lacks is refused before anything starts."""

from __future__ import annotations

import json

import pytest
from machine import Machine


def test_ppo_in_rllibs_terms(machine: Machine) -> None:
    answer = json.loads(machine.run("worker=rllib", "total_timesteps=2000", "--dry-run"))["worker"]
    layout = {"env_runners": 0, "learners": 0, "gpus_per_learner": 0, "envs_per_runner": 4, "cpus_per_node": 1}
    assert answer["layout"] == layout
    assert answer["pace"] == {"collected": 512, "total": 2000}
    settings = answer["settings"]
    assert settings["lr"] == [[0, 2.5e-4], [2000, 0.0]]
    assert (settings["train_batch_size_per_learner"], settings["minibatch_size"]) == (512, 128)
    assert (settings["lambda_"], settings["clip_param"], settings["entropy_coeff"]) == (0.95, 0.2, 0.01)


def test_env_runners_and_learners_follow_the_resources(machine: Machine) -> None:
    synchronous = json.loads(machine.run("worker=rllib", "resources.cpus=4", "--dry-run"))["worker"]
    assert synchronous["layout"]["env_runners"] == 4
    assert synchronous["layout"]["envs_per_runner"] == 1
    spread = json.loads(machine.run("worker=rllib", "resources.nodes=2", "resources.cpus=2", "--dry-run"))["worker"]
    assert (spread["layout"]["env_runners"], spread["layout"]["cpus_per_node"]) == (4, 2)
    beside = json.loads(machine.run("worker=rllib", "algo=impala", "resources.cpus=3", "--dry-run"))["worker"]
    assert (beside["layout"]["env_runners"], beside["layout"]["envs_per_runner"]) == (2, 2)


def test_dqn_in_rllibs_terms(machine: Machine) -> None:
    settings = json.loads(machine.run("worker=rllib", "algo=dqn", "total_timesteps=2000", "--dry-run"))["worker"][
        "settings"
    ]
    assert settings["epsilon"] == [[0, 1.0], [1000, 0.05]]
    assert settings["rollout_fragment_length"] == 10
    assert settings["target_network_update_freq"] == 500


def test_several_nodes_are_for_slurm(machine: Machine) -> None:
    machine.run("worker=rllib", "resources.nodes=2", expect=2)
    assert "this is one machine" in machine.stderr
    machine.run("-m", "worker=rllib", "resources.nodes=2", "hydra/launcher=local", expect=2)
    assert "2 asked for, 1 here" in machine.stderr
    machine.run("worker=random", "algo=random", "resources.nodes=2", "--dry-run", expect=2)
    assert "resources.nodes: random does not do that" in machine.stderr
    assert not machine.run_ids()


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["algo.target_kl=0.1"], "rllib's ppo has no hyperparameter 'target_kl', and does what null would do"),
        (["algo.normalize_advantage=false"], "and does what true would do"),
        (["algo=dqn", "+algo.gae_lambda=0.9"], "rllib's dqn has no hyperparameter 'gae_lambda'"),
        (["algo=dqn", "env=pendulum"], "does not do 'continuous'"),
        (["algo=dqn", "env=mpe_simple_spread"], "trains 1 at most"),
        (["total_timesteps=100"], "total_timesteps: 100 is less than what ppo collects for one update, 512 steps"),
        (["resources.cpus=3"], "algo.num_envs: 4 environments are not divided evenly among the 3 env runners"),
        (["+algo.native.clip_param=0.1"], "use algo.clip_coef"),
        (["+algo.native.num_env_runners=2"], "use resources.cpus"),
        (["+algo.native.kl_coef=2.0"], "did you mean 'kl_coeff'?"),
        (["+algo.policies=independent"], "algo.policies: CartPole-v1 has one agent, and one policy"),
        (["tracking.capture_video=true"], "tracking.capture_video: rllib does not do that"),
    ],
)
def test_refused_before_anything_starts(machine: Machine, overrides: list[str], said: str) -> None:
    machine.run("worker=rllib", *overrides, "--dry-run", expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()
