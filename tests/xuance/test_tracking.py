"""TensorBoard and W&B get what the events get; an evaluation can be filmed."""

from __future__ import annotations

from machine import Machine

RUN = ["worker=xuance", "algo=ippo", "env=mpe_simple_spread", "algo.rollout_steps=25", "total_timesteps=800"]


def test_tensorboard_wandb_without_an_account_and_videos(machine: Machine) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        machine.variables.pop(name, None)
    machine.variables["HOME"] = str(machine.folder)  # nobody has logged in here
    machine.run(*RUN, "tracking=both", "sweep=night")
    manifest = machine.manifest()
    assert any("it writes offline" in said for said in manifest["telemetry"]["warnings"])
    (tensorboard,) = (machine.run_dir() / manifest["tracking"]["tensorboard"]).glob("events.out.tfevents.*")
    (wandb,) = (machine.run_dir() / manifest["tracking"]["wandb"]).glob("run-*.wandb")
    losses = {name for event in machine.events(kind="metrics") for name in event["payload"] if "loss" in name}
    for name in ("episode/return/agent_2", "episode/length", *losses):
        assert name.encode() in tensorboard.read_bytes()
        assert name.encode() in wandb.read_bytes()
    for fact in (manifest["run_id"], "night", "mosaic-pipe"):
        assert fact.encode() in wandb.read_bytes()

    machine.run("mode=policy_eval", "resume.run=last", "eval.episodes=1", "eval.video=true")
    (video,) = machine.run_dir().glob("videos/*.mp4")
    assert video.stat().st_size > 1000
