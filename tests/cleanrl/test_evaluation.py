"""``mode=policy_eval``: the return that a policy was trained to, the same every time."""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cleanrl_machine import python
from machine import Machine


def evaluate(machine: Machine, *overrides: str) -> dict[str, Any]:
    """Evaluate, and return what the manifest says; ``eval.json`` says the same."""
    machine.run("mode=policy_eval", *overrides)
    manifest = machine.manifest()
    assert manifest["state"] == "COMPLETED"
    assert not manifest["checkpoints"]
    found: dict[str, Any] = manifest["summary"]["eval"]
    assert json.loads((machine.run_dir() / "eval.json").read_text()) == found
    return found


def returns(result: dict[str, Any]) -> list[float]:
    return [episode["episode_return"] for episode in result["episodes"]]


def test_ppo_keeps_what_it_has_learned(machine: Machine) -> None:
    machine.run("worker=cleanrl", "total_timesteps=100000", "tracking=none")
    trained = machine.run_ids()[-1]
    first = evaluate(machine, f"resume.run={trained}", "eval.episodes=20", "eval.batch_size=5", "eval.repeat=2")
    assert first["return_mean"] >= 150
    values = sorted(returns(first))
    assert len(values) == first["episode_count"] == 40
    assert first["return_mean"] == pytest.approx(statistics.fmean(values))
    assert first["return_std"] == pytest.approx(statistics.pstdev(values))
    assert first["return_iqm"] == pytest.approx(statistics.fmean(values[10:30]))
    assert [batch["episode_count"] for batch in first["batches"]] == [20, 20]
    assert [episode["seed"] for episode in first["episodes"]] == list(range(1, 41))
    for episode in first["episodes"]:  # a reward of 1 at each step
        assert episode["length"] == episode["episode_return"]
        assert episode["discounted_return"] == pytest.approx((1 - 0.99 ** episode["length"]) / 0.01)

    again = evaluate(machine, f"resume.run={trained}", "eval.episodes=20", "eval.batch_size=5", "eval.repeat=2")
    assert again["episodes"] == first["episodes"]
    one_by_one = evaluate(machine, f"resume.run={trained}", "eval.episodes=3", "eval.batch_size=1")
    assert one_by_one["episodes"] == first["episodes"][:3]

    cut = evaluate(machine, f"resume.run={trained}", "eval.episodes=2", "eval.max_episode_steps=7")
    assert [(episode["length"], episode["cut"]) for episode in cut["episodes"]] == [(7, True)] * 2
    drawn = evaluate(machine, f"resume.run={trained}", "eval.deterministic=false", "seed=9", "env.id=CartPole-v0")
    assert drawn["return_max"] <= 200
    assert machine.manifest()["spec"]["seed"] == 9


def test_a_video_of_the_first_episode(machine: Machine) -> None:
    machine.run("worker=cleanrl", "total_timesteps=512", "tracking=none")
    evaluate(machine, "resume.run=last", "eval.episodes=2", "eval.repeat=2", "eval.video=true")
    videos = sorted((machine.run_dir() / "videos").glob("*.mp4"))
    assert len(videos) == 2
    count = "import sys, imageio_ffmpeg as f; print(f.count_frames_and_secs(sys.argv[1])[0])"
    done = subprocess.run(
        [python(machine, "video"), "-c", count, videos[0]], capture_output=True, text=True, check=True
    )
    length = machine.manifest()["summary"]["eval"]["episodes"][0]["length"]
    assert length < int(done.stdout) <= length + 2  # resets are in it too


def test_upstreams_own_model(machine: Machine, tmp_path: Path) -> None:
    """What ``--save-model`` of the unmodified script leaves, run by hand."""
    flags = ["--total-timesteps", "1200", "--learning-starts", "500", "--save-model", "--env-id", "CartPole-v1"]
    command = [python(machine), "-m", "cleanrl.dqn", *flags]
    # it saves, and then evaluates with a package that the release lacks
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    (model,) = tmp_path.rglob("*.cleanrl_model")
    result = evaluate(machine, "worker=cleanrl", "algo=dqn", f"resume.checkpoint={model}")
    assert result["episode_count"] == 10
    machine.run("worker=cleanrl", "mode=resume_training", f"resume.checkpoint={model}", "total_timesteps=512", expect=1)
    assert "a model of other networks than this script's" in machine.manifest()["failure"]["reason"]


def test_what_cannot_be_evaluated_says_so(machine: Machine) -> None:
    machine.run("worker=cleanrl", "mode=policy_eval", expect=2)
    assert "mode=policy_eval starts from a checkpoint" in machine.stderr
    envpool = ["algo=ppo_atari_envpool", "env=envpool_breakout"]
    machine.run("worker=cleanrl", "mode=policy_eval", *envpool, "resume.checkpoint=/dev/null", expect=2)
    assert "it does: train, resume_training" in machine.stderr
