"""The networks that stand in for the script's own, layer by layer, and which one is taken when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cleanrl_machine import ask, newest_checkpoint
from machine import Machine

CNN = {
    "agent.trunk.layers.0.weight": [32, 3, 3, 3],
    "agent.trunk.layers.2.weight": [64, 32, 3, 3],
    "agent.trunk.layers.4.weight": [64, 64, 3, 3],
    "agent.trunk.layers.7.weight": [128, 3136],
    "agent.actor.0.weight": [128, 128],
    "agent.actor.2.weight": [7, 128],
    "agent.critic.0.weight": [128, 128],
    "agent.critic.2.weight": [1, 128],
}


def mlp(inputs: int, actions: int) -> dict[str, list[int]]:
    return {
        "agent.trunk.1.weight": [64, inputs],
        "agent.trunk.3.weight": [64, 64],
        "agent.actor.weight": [actions, 64],
        "agent.critic.weight": [1, 64],
    }


def upstream(inputs: int, actions: int) -> dict[str, list[int]]:
    return {
        **{f"agent.{head}.0.weight": [64, inputs] for head in ("actor", "critic")},
        **{f"agent.{head}.2.weight": [64, 64] for head in ("actor", "critic")},
        "agent.actor.4.weight": [actions, 64],
        "agent.critic.4.weight": [1, 64],
    }


NETWORKS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "minigrid": (["env=minigrid_empty_5x5"], CNN),
    "babyai": (["env=babyai_gotoobj"], CNN),
    "minigrid-mlp": (["env=minigrid_empty_5x5", "+algo.network=mlp"], mlp(147, 7)),
    "minigrid-library": (["env=minigrid_empty_5x5", "+algo.network=library"], upstream(147, 7)),
    "cartpole": (["env=cartpole"], upstream(4, 2)),
    "cartpole-mlp": (["env=cartpole", "+algo.network=mlp"], mlp(4, 2)),
}


@pytest.fixture(scope="module")
def found(make_machine: Callable[[Path], Machine], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is in a checkpoint of each."""
    machine, checkpoints = make_machine(tmp_path_factory.mktemp("agents")), []
    for overrides, _ in NETWORKS.values():
        machine.run("worker=cleanrl", *overrides, "total_timesteps=1024", "tracking=none")
        checkpoints.append(newest_checkpoint(machine))
    return dict(zip(NETWORKS, ask(machine, "facts of each", *checkpoints), strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(found: dict[str, Any], name: str) -> None:
    state = found[name]
    weights = {name: shape for name, shape in state["parameters"].items() if name.endswith("weight")}
    assert weights == NETWORKS[name][1]
    assert state["finite"]
    assert state["moments"]


def test_a_network_that_does_not_fit(machine: Machine) -> None:
    machine.run("worker=cleanrl", "+algo.network=minigrid_cnn", "total_timesteps=1024", expect=1)
    assert "made for images (7, 7, 3), these are (4,)" in machine.manifest()["failure"]["reason"]
    machine.run("worker=cleanrl", "algo=dqn", "+algo.network=mlp", expect=2)
    assert "cleanrl's dqn has no hyperparameter 'network'" in machine.stderr
