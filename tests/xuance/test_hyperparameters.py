"""Canonical hyperparameters in XuanCe's terms; what it lacks is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from machine import REPOSITORY, Machine
from xuance_machine import inside, spec_file

TRANSLATE = REPOSITORY / "tests" / "xuance" / "translate.py"
QMIX = ["algo=qmix", "env=mpe_simple_spread"]
TRANSLATED = {
    "ppo": ["total_timesteps=2000"],
    "qmix": [*QMIX, "total_timesteps=100000", "+algo.native.hidden_dim_mixing_net=32"],
}
REFUSED = {
    "target_kl": (["algo.target_kl=0.1"], "algo.target_kl: xuance's ppo does not have it"),
    "updates": (["algo=dqn", "algo.target_update_interval=505"], "505 steps are no whole number of them"),
    "uneven": ([*QMIX, "algo.train_interval=100"], "100 is no multiple of the number of environments, 16"),
    "short": (["total_timesteps=100"], "total_timesteps: 100 is less than what ppo collects at a time, 512 steps"),
    "set_by": (["+algo.native.clip_range=0.1"], "algo.native.clip_range: it is set by algo.clip_coef"),
    "unknown": (["+algo.native.use_obsnrm=true"], "algo.native.use_obsnrm: XuanCe's ppo has no such parameter"),
}
"""What the worker itself refuses; the rest is the core's, by its capabilities."""


@pytest.fixture(scope="module")
def said(stranger: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the worker makes of each spec."""
    folder = tmp_path_factory.mktemp("xuance")
    specs = {**TRANSLATED, **{name: overrides for name, (overrides, _) in REFUSED.items()}}
    files = [str(spec_file(folder, name, *overrides)) for name, overrides in specs.items()]
    return inside(Machine(stranger / "venv", stranger / "home", folder), TRANSLATE, *files)


def test_ppo_in_xuances_terms(said: Any) -> None:
    assert said["ppo"]["pace"] == {"num_envs": 4, "chunk": 128, "total": 1536, "train_interval": 512}
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
    assert settings.items() <= said["ppo"]["settings"].items()


def test_qmix_in_xuances_terms(said: Any) -> None:
    settings = {
        "training_frequency": 400,
        "sync_frequency": 100,
        "start_training": 1000,
        "decay_step_greedy": 50_000 * 16,
        "hidden_dim_mixing_net": 32,
        "continuous_action": False,
    }
    assert settings.items() <= said["qmix"]["settings"].items()


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_the_worker(said: Any, name: str) -> None:
    assert REFUSED[name][1] in said[name]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["algo=mappo"], "xuance's mappo trains several agents, and CartPole-v1 has 1"),
        (["env=lbf_8x8_2p_3f"], "xuance's ppo trains 1 at most, and Foraging-8x8-2p-3f-v3 has 2"),
    ],
)
def test_refused_before_anything_starts(machine: Machine, overrides: list[str], said: str) -> None:
    machine.run("worker=xuance", *overrides, "--dry-run", expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()
