"""What one policy does is recorded, and others learn from the record."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from machine import Machine
from mosaic_worker.datasets import read_description
from mosaic_worker.rl.dataset_arrays import load
from tianshou_machine import newest_checkpoint

DISCRETE = ["env=cartpole", "algo=discrete_bcq,discrete_cql,discrete_crr", "algo.target_update_interval=choice(15)"]
CONTINUOUS = ["env=pendulum", "algo=bcq,cql,td3_bc", "algo.batch_size=choice(32)"]
LEARNING = ["algo.updates=choice(40)", "checkpoint.interval=20", "eval.episodes=2", "eval.interval=10", "tracking=none"]
PENDULUM_STEPS = 500


@dataclass
class Chain:
    """A machine, its runs that have recorded CartPole and Pendulum, and its runs that have learned from them."""

    machine: Machine
    cartpole: str
    pendulum: str
    learned: list[str]


def stop_playing(machine: Machine, *overrides: str) -> str:
    """Start a run, and stop it once it has played an episode; returns its id."""
    before, process = set(machine.run_ids()), machine.start(*overrides)
    machine.wait_for(lambda: machine.events((set(machine.run_ids()) - before).pop(), "eval_episode"))
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    return (set(machine.run_ids()) - before).pop()


@pytest.fixture(scope="module")
def chain(trained: Machine, stranger: Path, temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> Chain:
    made = Machine(stranger / "venv", stranger / "home", tmp_path_factory.mktemp("offline"))
    made.variables |= {"NUMBA_DISABLE_JIT": "1", "TMPDIR": str(temporary)}
    policy = f"resume.checkpoint={newest_checkpoint(trained, trained.run_ids()[0])}"
    cartpole = stop_playing(made, "mode=collect", policy, "collect.steps=1000000", "eval.deterministic=false")
    overrides = ["algo.update_epochs=1", "algo.clip_value_loss=false", "total_timesteps=2048", "tracking=none"]
    made.run("worker=tianshou", "algo=ppo_continuous_action", "env=pendulum", *overrides)
    made.run("mode=collect", "resume.run=last", f"collect.steps={PENDULUM_STEPS}")
    pendulum = made.run_ids()[-1]
    made.run("-m", "worker=tianshou", *DISCRETE, f"dataset.run={cartpole}", *LEARNING)
    made.run("-m", "worker=tianshou", *CONTINUOUS, f"dataset.run={pendulum}", *LEARNING)
    return Chain(made, cartpole, pendulum, made.run_ids()[3:])


def test_a_policy_is_recorded_until_it_is_stopped(chain: Chain) -> None:
    folder = chain.machine.run_dir(chain.cartpole) / "dataset"
    spaces: dict[str, Any] = {
        "observation_space": {"type": "box", "shape": [4], "dtype": "float32"},
        "action_space": {"type": "discrete", "n": 2, "start": 0},
    }
    arrays = load(folder, spaces, read_description(folder)["sha256"])
    over = arrays["terminations"] | arrays["truncations"]
    manifest = chain.machine.manifest(chain.cartpole)
    assert manifest["state"] == "CANCELLED"
    assert len(over) == manifest["summary"]["env_steps"] > 0
    assert (arrays["rewards"] == 1).all()
    # within an episode, what was seen after a step is what was seen before the next one
    same = (arrays["observations"][1:] == arrays["next_observations"][:-1]).all(axis=1)
    assert same.tolist() == (~over[:-1]).tolist()

    assert manifest["summary"]["episodes"] == 0
    returns = [event["payload"]["episode_return"] for event in chain.machine.events(chain.cartpole, "eval_episode")]
    assert manifest["summary"]["eval"]["return_mean"] == pytest.approx(sum(returns) / len(returns))
    assert [artifact["kind"] for artifact in manifest["artifacts"]] == ["dataset"]
    described = read_description(folder)
    assert described["source"]["run"] == chain.cartpole
    assert described["episodes"]["episode_count"] == len(returns)
    assert sum(over) - len(returns) in (0, 1)  # the last one may have been cut


def test_as_many_steps_as_were_asked_for_with_actions_as_the_environment_got_them(chain: Chain) -> None:
    box = {"type": "box", "shape": [1], "dtype": "float32", "low": -2.0, "high": 2.0}
    spaces: dict[str, Any] = {
        "observation_space": {"type": "box", "shape": [3], "dtype": "float32"},
        "action_space": box,
    }
    folder = chain.machine.run_dir(chain.pendulum) / "dataset"
    actions = load(folder, spaces, read_description(folder)["sha256"])["actions"]
    assert len(actions) == PENDULUM_STEPS
    assert 0 < abs(actions).max() <= 2


def test_algorithms_learn_from_the_record_alone(chain: Chain) -> None:
    assert len(chain.learned) == 6
    for run_id in chain.learned:
        manifest, machine = chain.machine.manifest(run_id), chain.machine
        assert manifest["state"] == "COMPLETED"
        summary = manifest["summary"]
        assert (summary["updates"], summary["env_steps"], summary["episodes"]) == (40, 0, 0)
        evaluations = machine.events(run_id, "eval_completed")
        assert [event["payload"]["updates"] for event in evaluations] == [10, 20, 30, 40]
        assert summary["eval"]["episode_count"] == 2
        assert [(saved["updates"], saved["env_steps"]) for saved in manifest["checkpoints"]] == [(20, 0), (40, 0)]
        assert not manifest["telemetry"]["warnings"]


def test_what_is_shown_counts_updates(chain: Chain) -> None:
    machine, run_id = chain.machine, chain.learned[0]
    listed = machine.run("runs", "ls").splitlines()
    assert "  40 updates  " in next(line for line in listed if line.startswith(run_id))
    shown = machine.run("runs", "show", run_id)
    assert re.search(r"^steps +40 of 40 updates$", shown, re.MULTILINE)
    assert re.search(r"^speed +- steps/s, ", shown, re.MULTILINE)  # it took none


def test_resumed_equals_uninterrupted_whether_it_was_evaluated_or_not(chain: Chain) -> None:
    machine = chain.machine
    halfway = [str(machine.run_dir(run_id) / "checkpoints" / "update-20.pt") for run_id in chain.learned]
    before = machine.run_ids()
    machine.run(
        "-m", "mode=resume_training", f"resume.checkpoint={','.join(halfway)}", "eval.interval=null", "sweep=resumed"
    )
    resumed = [machine.manifest(run_id) for run_id in machine.run_ids() if run_id not in before]
    ends = {manifest["spec"]["resume"]["run"]: manifest["checkpoints"][-1]["sha256"] for manifest in resumed}
    assert ends == {run_id: machine.manifest(run_id)["checkpoints"][-1]["sha256"] for run_id in chain.learned}


def test_gail_imitates_the_record_in_the_environment(chain: Chain) -> None:
    machine = chain.machine
    gail = ["worker=tianshou", "algo=gail", "env=pendulum", f"dataset.run={chain.pendulum}", "algo.update_epochs=1"]
    machine.run(*gail, "total_timesteps=2048")
    summary = machine.manifest()["summary"]
    assert (summary["env_steps"], summary["updates"]) == (2048, None)
    assert summary["episodes"] == 8  # 200 steps each, in 4 environments
    assert any("update/disc_loss/mean" in event["payload"] for event in machine.events(kind="metrics"))


def test_learning_stops_between_two_updates(chain: Chain) -> None:
    td3_bc = ["worker=tianshou", "algo=td3_bc", "env=pendulum", f"dataset.run={chain.pendulum}", "tracking=none"]
    evaluated = ["algo.updates=1000000", "eval.interval=1", "eval.episodes=1"]
    manifest = chain.machine.manifest(stop_playing(chain.machine, *td3_bc, *evaluated))
    (checkpoint,) = manifest["checkpoints"]
    assert checkpoint["updates"] == manifest["summary"]["updates"] > 0


def test_what_was_learned_outlives_the_last_evaluation(chain: Chain) -> None:
    machine = chain.machine
    td3_bc = ["worker=tianshou", "algo=td3_bc", "env=pendulum", f"dataset.run={chain.pendulum}", "tracking=none"]
    stopped = stop_playing(machine, *td3_bc, "algo.updates=5", "eval.episodes=100000")
    assert machine.manifest(stopped)["checkpoints"][-1]["updates"] == 5
    machine.run("mode=resume_training", f"resume.run={stopped}", "eval.episodes=2")
    assert machine.manifest()["summary"]["eval"]["episode_count"] == 2
    machine.run("mode=resume_training", f"resume.run={stopped}", f"dataset.run={chain.cartpole}", expect=2)
    assert "it was recorded in CartPole-v1" in machine.stderr


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["algo=td3_bc", "env=pendulum", "total_timesteps=9"], "total_timesteps: td3_bc takes no environment steps"),
        (["algo=td3_bc", "env=pendulum", "dataset.run=CARTPOLE"], "it was recorded in CartPole-v1"),
        (["algo=cql", "env=pendulum", "dataset.run=PENDULUM", "+algo.native.min_action=0"], "no such parameter"),
    ],
)
def test_what_does_not_fit_is_refused(chain: Chain, overrides: list[str], said: str) -> None:
    machine, before = chain.machine, chain.machine.run_ids()
    names = {"dataset.run=CARTPOLE": chain.cartpole, "dataset.run=PENDULUM": chain.pendulum}
    given = [f"dataset.run={names[one]}" if one in names else one for one in overrides]
    machine.run("worker=tianshou", *given, expect=2)
    assert said in machine.stderr
    assert machine.run_ids() == before


def test_a_dry_run_looks_at_the_dataset(chain: Chain) -> None:
    overrides = ["worker=tianshou", "algo=discrete_crr", f"dataset.run={chain.cartpole}", "--dry-run"]
    answer = json.loads(chain.machine.run(*overrides))
    folder = chain.machine.run_dir(chain.cartpole) / "dataset"
    assert answer["worker"]["dataset"] == {"path": str(folder), "steps": read_description(folder)["steps"]}
    assert answer["worker"]["pace"]["total"] == answer["spec"]["algo"]["updates"]
