"""Every algorithm of CleanRL trains, and what it has learned plays; each is trained once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cleanrl_machine import ask, newest_checkpoint
from machine import Machine

QUICK = ["total_timesteps=1500", "algo.learning_starts=1200", "algo.buffer_size=1000"]
RUNS = {
    "ppo": ["env=acrobot", "total_timesteps=3000"],
    "ppo-minigrid": ["algo=ppo", "env=minigrid_doorkey_5x5", "total_timesteps=3000"],
    "dqn": ["algo=dqn", *QUICK],
    "dqn-minigrid": ["algo=dqn", "env=minigrid_empty_5x5", *QUICK],
    "c51": ["algo=c51", "env=mountaincar", *QUICK],
    "c51-minigrid": ["algo=c51", "env=minigrid_empty_8x8", *QUICK],
    "ppo_continuous_action": ["algo=ppo_continuous_action", "env=pendulum", "total_timesteps=4096"],
    "rpo_continuous_action": ["algo=rpo_continuous_action", "env=pendulum", "total_timesteps=4096"],
    "sac_continuous_action": ["algo=sac_continuous_action", "env=pendulum", *QUICK],
    "td3_continuous_action": ["algo=td3_continuous_action", "env=mountaincar_continuous", *QUICK],
    "ddpg_continuous_action": ["algo=ddpg_continuous_action", "env=pendulum", *QUICK],
}
MODULES = {
    "ppo": {"agent"},
    "dqn": {"q_network", "target_network"},
    "c51": {"q_network", "target_network"},
    "ppo_continuous_action": {"agent"},
    "rpo_continuous_action": {"agent"},
    "sac_continuous_action": {"actor", "qf1", "qf2", "qf1_target", "qf2_target"},
    "td3_continuous_action": {"actor", "target_actor", "qf1", "qf2", "qf1_target", "qf2_target"},
    "ddpg_continuous_action": {"actor", "target_actor", "qf1", "qf1_target"},
}


@dataclass
class Trained:
    """A machine with a run of each algorithm; by name their ids, and what is in their checkpoints."""

    machine: Machine
    ids: dict[str, str]
    checkpoints: dict[str, Any]


@pytest.fixture(scope="module")
def trained(make_machine: Callable[[Path], Machine], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    machine, ids = make_machine(tmp_path_factory.mktemp("algorithms")), dict[str, str]()
    for name, overrides in RUNS.items():
        machine.run("worker=cleanrl", *overrides, "seed=2")
        (ids[name],) = set(machine.run_ids()) - set(ids.values())
    facts = ask(machine, "facts of each", *(newest_checkpoint(machine, run_id) for run_id in ids.values()))
    return Trained(machine, ids, dict(zip(ids, facts, strict=True)))


@pytest.mark.parametrize("name", RUNS)
def test_every_algorithm_trains(trained: Trained, name: str) -> None:
    algo, machine, run_id = name.partition("-")[0], trained.machine, trained.ids[name]
    manifest = machine.manifest(run_id)
    assert manifest["state"] == "COMPLETED"
    steps = manifest["summary"]["env_steps"]
    assert 1400 < steps <= manifest["spec"]["total_timesteps"]

    metrics: dict[str, object] = {}
    for event in machine.events(run_id, "metrics"):
        metrics.update(event["payload"])
    losses = [key for key in metrics if key.startswith("losses/")]
    assert losses, "no update was made"
    assert "charts/SPS" in metrics
    if steps >= 1500 and "mountaincar_continuous" not in RUNS[name][1]:
        assert manifest["summary"]["episodes"] >= 3

    assert list((machine.run_dir(run_id) / manifest["tracking"]["tensorboard"]).glob("events.out.tfevents.*"))
    assert len(manifest["checkpoints"]) == 1
    state = trained.checkpoints[name]
    assert set(state["modules"]) == MODULES[algo]
    assert state["finite"]
    assert state["moments"]  # optimisers that have stepped
    assert ("log_alpha" in state["values"]) == (algo == "sac_continuous_action")
    assert (state["algo"], state["env_steps"]) == (algo, steps)


def test_policies_of_every_kind_play_the_same_again(trained: Trained) -> None:
    machine, ids = trained.machine, list(trained.ids.values())
    runs = f"resume.run={','.join(ids)}"
    for sweep in ("once", "again"):
        settings = ["eval.episodes=2", "eval.deterministic=true,false", f"sweep={sweep}"]
        machine.run("-m", "mode=policy_eval", runs, *settings)
    played = defaultdict(list)
    for run_id in set(machine.run_ids()) - set(ids):
        manifest = machine.manifest(run_id)
        assert manifest["state"] == "COMPLETED"
        assert not manifest["checkpoints"]
        result = manifest["summary"]["eval"]
        assert json.loads((machine.run_dir(run_id) / "eval.json").read_text()) == result
        assert result["episode_count"] == 2
        spec = manifest["spec"]
        played[spec["resume"]["run"], spec["eval"]["deterministic"]].append({**result, "batches": None})
    assert len(played) == 2 * len(ids)
    for once, again in played.values():
        assert once == again
