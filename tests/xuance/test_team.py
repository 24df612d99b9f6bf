"""A team with recurrent networks, as a user runs it: trained, followed, evaluated, filmed, asked step by step."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from machine import Machine

AGENTS = ["adversary_0", "agent_0", "agent_1"]
RUN = ["worker=xuance", "algo=iql", "env=mpe_simple_adversary", "+algo.native.use_rnn=true", "algo.learning_starts=400"]


@pytest.fixture(scope="module")
def trained(stranger: Path, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with one run on it, whose user has logged in nowhere."""
    made = Machine(stranger / "venv", stranger / "home", tmp_path_factory.mktemp("xuance"))
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        made.variables.pop(name, None)
    made.variables["HOME"] = str(made.folder)
    made.run(*RUN, "total_timesteps=1600", "tracking=both", "sweep=night")
    return made


def test_tensorboard_and_wandb_without_an_account(trained: Machine) -> None:
    run_id = trained.run_ids()[0]
    manifest = trained.manifest(run_id)
    assert any("it writes offline" in said for said in manifest["telemetry"]["warnings"])
    (tensorboard,) = (trained.run_dir(run_id) / manifest["tracking"]["tensorboard"]).glob("events.out.tfevents.*")
    (wandb,) = (trained.run_dir(run_id) / manifest["tracking"]["wandb"]).glob("run-*.wandb")
    losses = {name for event in trained.events(run_id, "metrics") for name in event["payload"] if "loss" in name}
    assert losses
    for name in ("episode/return/agent_1", "episode/length", *losses):
        assert name.encode() in tensorboard.read_bytes()
        assert name.encode() in wandb.read_bytes()
    for fact in (run_id, "night", "mosaic-pipe"):
        assert fact.encode() in wandb.read_bytes()


def test_it_plays_what_it_learned(trained: Machine) -> None:
    run_id = trained.run_ids()[0]
    settings = ["eval.episodes=3", "eval.batch_size=2", "eval.video=true"]
    trained.run("mode=policy_eval", f"resume.run={run_id}", *settings)
    played = trained.manifest()["summary"]["eval"]["episodes"]
    assert [sorted(episode["agent_returns"]) for episode in played] == [AGENTS] * 3
    (video,) = trained.run_dir().glob("videos/*.mp4")
    assert video.stat().st_size > 1000

    # the same seed and the same networks, which remember, asked step by step
    commands = [{"cmd": "reset", "seed": 1}, *[{"cmd": "step"}] * 25, {"cmd": "reset"}, {"cmd": "step", "action": 1}]
    talk = subprocess.run(
        trained.command("mode=interactive", f"resume.run={run_id}"),
        input="\n".join(map(json.dumps, commands)),
        cwd=trained.folder,
        env=trained.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    _, ready, *stepped, over, _, refused = map(json.loads, talk.stdout.splitlines())
    assert sorted(ready["observation"]) == AGENTS
    assert sorted(stepped[0]["action"]) == sorted(stepped[0]["agent_rewards"]) == AGENTS
    assert over["type"] == "episode_done"
    assert over["episode_return"] == played[0]["episode_return"]
    assert "an object with adversary_0, agent_0, agent_1 is needed" in refused["message"]
