"""W&B, TensorBoard and videos: where they go, and that no key goes anywhere."""

from __future__ import annotations

from machine import Machine

KEY = "0123456789abcdef0123456789abcdef01234567"


def test_wandb_offline_without_an_account(machine: Machine) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        machine.variables.pop(name, None)
    machine.variables["HOME"] = str(machine.folder)  # nobody has logged in here
    machine.run("worker=cleanrl", "tracking=both", "total_timesteps=1024", "sweep=night")
    manifest = machine.manifest()
    assert manifest["state"] == "COMPLETED"
    assert any("it writes offline" in said for said in manifest["telemetry"]["warnings"])
    assert list((machine.run_dir() / manifest["tracking"]["wandb"]).glob("run-*.wandb"))
    assert list((machine.run_dir() / manifest["tracking"]["tensorboard"]).glob("events.out.tfevents.*"))
    assert "offline-run" in machine.run("runs", "show", "last")


def test_wandb_alone_and_its_key_stays_in_the_environment(machine: Machine) -> None:
    machine.variables.update(WANDB_API_KEY=KEY, WANDB_MODE="offline")
    machine.run("worker=cleanrl", "tracking=wandb", "tracking.wandb_project=mine", "total_timesteps=1024")
    manifest = machine.manifest()
    assert not manifest["telemetry"]["warnings"]
    assert manifest["tracking"]["tensorboard"] is None
    (file,) = (machine.run_dir() / manifest["tracking"]["wandb"]).glob("run-*.wandb")
    data = file.read_bytes()
    assert b"losses/value_loss" in data
    assert manifest["run_id"].encode() in data
    files = (path for path in machine.run_dir().rglob("*") if path.is_file())
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    machine.run("worker=cleanrl", "+tracking.wandb_api_key=" + KEY, expect=2)
    assert "a secret has no place in a config" in machine.stderr


def test_videos_of_training(machine: Machine) -> None:
    machine.run("worker=cleanrl", "tracking=none", "tracking.capture_video=true", "total_timesteps=512")
    assert list(machine.run_dir().rglob("*.mp4"))
