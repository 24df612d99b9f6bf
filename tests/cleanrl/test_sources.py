"""Where CleanRL comes from: PyPI's release, a checkout of the user's, a commit that uv installs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cleanrl_machine import python
from machine import Machine

# A script as CleanRL has written them since 2.0: a dataclass for tyro instead of an ArgumentParser.
PQN = '''
import random
from dataclasses import dataclass
import gymnasium as gym, numpy as np, torch, tyro
from torch.utils.tensorboard import SummaryWriter

@dataclass
class Args:
    seed: int = 1
    """seed of the experiment"""
    cuda: bool = True
    """if toggled, cuda will be enabled"""
    torch_deterministic: bool = True
    env_id: str = "CartPole-v1"
    total_timesteps: int = 500
    learning_rate: float = 2.5e-4
    """the learning rate"""
    num_envs: int = 4
    num_steps: int = 32
    anneal_lr: bool = True
    max_grad_norm: float = None
    batch_size: int = 0
    """computed"""

if __name__ == "__main__":
    args = tyro.cli(Args)
    print("ARGS", args)
    writer = SummaryWriter("runs/x")
    torch.manual_seed(args.seed)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make(args.env_id) for i in range(args.num_envs)])
    q_network = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(q_network.parameters(), lr=args.learning_rate)
    global_step = 0
    obs, _ = envs.reset(seed=args.seed)
    for iteration in range(1, args.total_timesteps // (args.num_envs * args.num_steps) + 1):
        for step in range(0, args.num_steps):
            global_step += args.num_envs
            actions = q_network(torch.Tensor(obs)).argmax(1).numpy()
            obs, reward, terminated, truncated, infos = envs.step(actions)
        loss = q_network(torch.Tensor(obs)).pow(2).mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        writer.add_scalar("losses/td_loss", loss.item(), global_step)
    envs.close()
    writer.close()
'''
PROJECT = (
    '[project]\nname = "cleanrl"\nversion = "2.0.0"\nrequires-python = ">=3.8,<3.11"\ndependencies = ["gym==0.1"]\n'
)
PROJECT += '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
PROJECT += '[tool.hatch.build.targets.wheel]\npackages = ["cleanrl"]\n'


@pytest.fixture
def checkout(machine: Machine, tmp_path: Path) -> Path:
    """A repository with the released scripts, the one above, and a mark in ppo."""
    folder = tmp_path / "my cleanrl"
    installed = subprocess.run(
        [
            python(machine),
            "-c",
            "import importlib.util as u; print(u.find_spec('cleanrl').submodule_search_locations[0])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    shutil.copytree(installed, folder / "cleanrl", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "cleanrl" / "pqn.py").write_text(PQN)
    ppo = folder / "cleanrl" / "ppo.py"
    ppo.write_text(ppo.read_text().replace("args = parse_args()", "args = parse_args(); print('MY PPO')", 1))
    (folder / "pyproject.toml").write_text(PROJECT)
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder


def log(machine: Machine) -> str:
    return (machine.run_dir() / "attempts" / "1" / "worker.log").read_text()


def test_a_checkout(machine: Machine, checkout: Path) -> None:
    source = ["worker.source=path", f"worker.path={checkout}"]
    machine.run("worker=cleanrl", *source, "total_timesteps=512")
    assert "MY PPO" in log(machine)
    assert machine.manifest()["provenance"]["versions"]["cleanrl"] == f"checkout {checkout}"
    ppo = checkout / "cleanrl" / "ppo.py"
    ppo.write_text(ppo.read_text().replace("MY PPO", "CHANGED SINCE"))
    machine.run("worker=cleanrl", *source, "total_timesteps=512")
    assert "CHANGED SINCE" in log(machine)
    machine.run("worker=cleanrl", "total_timesteps=512")
    assert "CHANGED SINCE" not in log(machine)

    (checkout / "cleanrl" / "pqn.py").unlink()
    machine.run("worker=cleanrl", *source, "algo=pqn", expect=2)
    assert "worker.source=path has no pqn" in machine.stderr


def test_a_commit_and_its_other_kind_of_command_line(machine: Machine, checkout: Path) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout
    place = f"file://{checkout}".replace(" ", "%20")
    source = ["worker.source=git", f"worker.repository={place}", f"worker.commit={commit.strip()}"]
    native = ["+algo.native.torch_deterministic=false", "algo.max_grad_norm=0.25", "algo.anneal_learning_rate=false"]
    pqn = ["algo=pqn", "algo.rollout_steps=16", *native, "~algo.update_epochs", "~algo.minibatches"]
    dropped = [f"~algo.{name}" for name in ("gamma", "epsilon_start", "epsilon_end", "exploration_fraction")]
    machine.run("worker=cleanrl", *source, *pqn, *dropped, "total_timesteps=640")
    for said in ("torch_deterministic=False", "max_grad_norm=0.25", "anneal_lr=False", "cuda=False", "num_steps=16"):
        assert said in log(machine)
    manifest = machine.manifest()
    assert manifest["summary"]["env_steps"] == 640
    assert manifest["checkpoints"]
    assert manifest["provenance"]["versions"]["cleanrl"] == f"{commit.strip()} of {place}"
    asked = machine.run("worker=cleanrl", *source, *pqn, *dropped, "total_timesteps=640", "--dry-run")
    answer = json.loads(asked)
    assert "--no-torch-deterministic" in answer["worker"]["arguments"]
    machine.run("worker=cleanrl", *source, *pqn, *dropped, "+algo.native.batch_sise=3", expect=2)
    assert "did you mean 'batch_size'?" in machine.stderr
    machine.run("worker=cleanrl", *source, *pqn, *dropped, "+algo.native.batch_size=many", expect=2)
    assert "expected int, got 'many'" in machine.stderr


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["algo=pqn"], "worker.source=pypi has no pqn\n  choose worker.source=git or path"),
        (["algo=rainbow_atari", "env=atari_pong"], "worker.source=pypi has no rainbow_atari"),
        (["worker.source=path"], "worker.source=path needs worker.path=FOLDER"),
        (["worker.source=path", "worker.path=/nowhere"], "worker.path=/nowhere: no such folder"),
        (["worker.source=git"], "worker.source=git needs worker.commit=…"),
        (
            ["worker.source=git", "worker.commit=abc", "worker.repository=https://me:pass@example.org/x"],
            "worker.repository: holds a password",
        ),
        (["algo=ppo_procgen", "env.family=procgen", "env.observation_space=image"], "Python 3.10 and older"),
        (["algo=ppo_atari"], "cleanrl's ppo_atari does not do 'classic_control'\n  it does: atari"),
        (["algo=dqn", "env=pendulum"], "cleanrl's dqn does not do 'continuous'"),
    ],
)
def test_what_a_source_lacks_is_said_before_anything_starts(machine: Machine, overrides: list[str], said: str) -> None:
    machine.run("worker=cleanrl", *overrides, expect=2)
    assert said in machine.stderr
    assert not machine.outputs.exists()


def test_the_table_of_algorithms(machine: Machine) -> None:
    shown = machine.run("workers", "show", "cleanrl").splitlines()
    assert len(shown) == 1 + 33
    by_name = {line.split()[0]: line for line in shown}
    assert "git path" in by_name["pqn"]
    assert "jax" in by_name["dqn_jax"]
    assert "Python 3.10 and older" in by_name["ppo_procgen"]
    assert "CartPole-v1, 2048 steps" in by_name["ppo"]
    facts = json.loads(machine.run("workers", "show", "cleanrl", "--json"))
    assert len(facts["algorithms"]) == 33


def test_an_extra_that_does_not_exist(machine: Machine) -> None:
    machine.run("workers", "install", "cleanrl", "--extra", "atarii", expect=2)
    assert "cleanrl has no extra 'atarii'" in machine.stderr
    assert "did you mean 'atari'?" in machine.stderr
