"""Canonical hyperparameters in Tianshou's terms; what it lacks is refused before anything starts."""

from __future__ import annotations

import json

import pytest
from machine import Machine


def test_ppo_in_tianshous_terms(machine: Machine) -> None:
    answer = json.loads(machine.run("worker=tianshou", "total_timesteps=2000", "--dry-run"))["worker"]
    pace = {"num_envs": 4, "collected": 512, "total": 1536, "batch_size": 128, "repetitions": 4, "learning_starts": 0}
    assert answer["pace"] == pace
    assert answer["settings"]["eps_clip"] == 0.2
    assert answer["settings"]["value_clip"] is False
    assert "max_kl" not in answer["settings"]


def test_dqn_in_tianshous_terms(machine: Machine) -> None:
    overrides = ["worker=tianshou", "algo=dqn", "algo.learning_starts=995", "+algo.native.is_double=false"]
    answer = json.loads(machine.run(*overrides, "--dry-run"))["worker"]
    assert (answer["pace"]["collected"], answer["pace"]["learning_starts"]) == (10, 1000)
    assert answer["settings"]["target_update_freq"] == 50
    assert answer["settings"]["is_double"] is False


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["algo=dqn", "algo.tau=0.5"], "tianshou's dqn has no hyperparameter 'tau', and does what 1.0 would do"),
        (["algo.target_kl=0.1"], "tianshou's ppo has no hyperparameter 'target_kl', and does what null would do"),
        (["algo=dqn", "+algo.gae_lambda=0.9"], "tianshou's dqn has no hyperparameter 'gae_lambda'"),
        (["algo=dqn", "algo.target_update_interval=505"], "505 steps are no whole number of them"),
        (["algo=dqn", "+algo.num_envs=4"], "10 is no multiple of algo.num_envs=4"),
        (["total_timesteps=100"], "total_timesteps: 100 is less than what ppo collects for one update, 512 steps"),
        (["+algo.native.eps_clip=0.1"], "use algo.clip_coef"),
        (["+algo.native.dual_clop=2.0"], "did you mean 'dual_clip'?"),
        (["algo=sac"], "does not do 'discrete'"),
        (["tracking.capture_video=true"], "tracking.capture_video: tianshou does not do that"),
    ],
)
def test_refused_before_anything_starts(machine: Machine, overrides: list[str], said: str) -> None:
    machine.run("worker=tianshou", *overrides, "--dry-run", expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()
