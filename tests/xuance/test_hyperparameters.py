"""Canonical hyperparameters in XuanCe's terms; what it lacks is refused before anything starts."""

from __future__ import annotations

import json

import pytest
from machine import Machine

TEAM = "env=mpe_simple_spread"


def test_ppo_in_xuances_terms(machine: Machine) -> None:
    answer = json.loads(machine.run("worker=xuance", "total_timesteps=2000", "--dry-run"))["worker"]
    assert answer["pace"] == {"num_envs": 4, "chunk": 128, "total": 1536, "train_interval": 512}
    settings = {
        "agent": "PPO",
        "parallels": 4,
        "horizon_size": 128,
        "n_minibatch": 4,
        "n_epochs": 4,
        "clip_range": 0.2,
        "learning_rate": 2.5e-4,
        "end_factor_lr_decay": 0.0,
        "grad_clip_norm": 0.5,
        "use_grad_clip": True,
        "use_obsnorm": False,
        "running_steps": 1536,
    }
    assert settings.items() <= answer["settings"].items()


def test_qmix_in_xuances_terms(machine: Machine) -> None:
    overrides = ["algo=qmix", TEAM, "total_timesteps=100000", "+algo.native.hidden_dim_mixing_net=32"]
    answer = json.loads(machine.run("worker=xuance", *overrides, "--dry-run"))["worker"]
    settings = {
        "training_frequency": 400,
        "sync_frequency": 100,
        "start_training": 1000,
        "decay_step_greedy": 50_000 * 16,
        "hidden_dim_mixing_net": 32,
        "continuous_action": False,
    }
    assert settings.items() <= answer["settings"].items()


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["algo.clip_value_loss=true"], "algo.clip_value_loss: XuanCe's ppo does not have it"),
        (["algo.target_kl=0.1"], "algo.target_kl: XuanCe's ppo does not have it; it does what None would do"),
        (["algo=dqn", "+algo.gae_lambda=0.9"], "xuance's dqn has no hyperparameter 'gae_lambda'"),
        (["algo=dqn", "algo.target_update_interval=505"], "505 steps are no whole number of them"),
        (["algo=qmix", TEAM, "algo.train_interval=100"], "100 is no multiple of the number of environments, 16"),
        (["total_timesteps=100"], "total_timesteps: 100 is less than what ppo collects at a time, 512 steps"),
        (["+algo.native.clip_range=0.1"], "use algo.clip_coef"),
        (["+algo.native.use_obsnrm=true"], "did you mean 'use_obsnorm'?"),
        (["algo=mappo"], "xuance's mappo trains several agents, and CartPole-v1 has 1"),
        ([TEAM], "xuance's ppo trains 1 at most, and simple_spread_v3 has 3"),
        (["algo=maddpg", TEAM], "does not do 'discrete'"),
        (["tracking.capture_video=true"], "tracking.capture_video: xuance does not do that"),
    ],
)
def test_refused_before_anything_starts(machine: Machine, overrides: list[str], said: str) -> None:
    machine.run("worker=xuance", *overrides, "--dry-run", expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()


def test_another_worker_trains_one_agent(machine: Machine) -> None:
    machine.run("worker=cleanrl", "algo=ppo", TEAM, "--dry-run", expect=2)
    assert "cleanrl does not do 'mpe'" in machine.stderr
