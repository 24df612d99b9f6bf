"""Canonical hyperparameters: a worker's library has one, or the spec is refused and says so."""

from __future__ import annotations

from typing import Any

import pytest
from machine import REPOSITORY
from omegaconf import OmegaConf

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.spec.compose import compose_spec
from mosaic_pipe.spec.schema import AlgoSpec, RunSpec
from mosaic_pipe.workers.capabilities import FILE_NAME, Capabilities, read_capabilities
from mosaic_pipe.workers.fit import check_capabilities

WORKERS = {
    worker.worker_type: worker
    for worker in map(read_capabilities, REPOSITORY.glob(f"workers/*/*/{FILE_NAME}"))
    if any(algorithm.hyperparameters for algorithm in worker.algorithms.values())
}
ALGORITHMS = [(worker, name) for worker, capabilities in WORKERS.items() for name in capabilities.algorithms]
CANONICAL = [name for name in AlgoSpec.__struct_fields__ if name not in ("name", "native")]
FLAGS = ("anneal_learning_rate", "clip_value_loss", "normalize_advantage", "autotune_alpha")
VALUES: dict[str, Any] = {
    **dict.fromkeys(CANONICAL, 1),
    **dict.fromkeys(FLAGS, True),
    "network": "mlp",
    "policies": "shared",
    "tau": 0.5,
}


def spec_of(worker: Capabilities, algo: dict[str, Any]) -> RunSpec:
    """A run of ``algo`` that nothing but its hyperparameters can make unfit."""
    algorithm = worker.algorithms[algo["name"]]
    env = {
        "id": "Any-v0",
        "family": (algorithm.env_families or worker.env_families)[0],
        "action_space": algorithm.action_spaces[0],
        "observation_space": algorithm.observation_spaces[0],
        "agents": algorithm.min_agents,
    }
    choice = {"name": worker.worker_type, "source": algorithm.sources[0], "python": "/usr/bin/python3"}
    dataset = {"sha256": "00"} if algorithm.dataset else {}
    run = {"seed": 1, "total_timesteps": 1000, "dataset": dataset}
    return compose_spec({"worker": choice, "algo": algo, "env": env, **run})


@pytest.mark.parametrize(("worker", "name"), ALGORITHMS)
def test_what_an_algorithm_lacks_is_refused_by_name(worker: str, name: str) -> None:
    capabilities = WORKERS[worker]
    for parameter, value in VALUES.items():
        called = capabilities.algorithms[name].hyperparameters.get(parameter)
        if called == "=true":
            value = False
        if called is None or called.startswith("="):
            with pytest.raises(SpecError) as error:
                check_capabilities(spec_of(capabilities, {"name": name, parameter: value}), capabilities)
            assert f"{worker}'s {name} has no hyperparameter '{parameter}'" in str(error.value)
        else:
            check_capabilities(spec_of(capabilities, {"name": name, parameter: value}), capabilities)


@pytest.mark.parametrize(("worker", "name"), ALGORITHMS)
def test_the_defaults_suit_every_worker_that_has_the_algorithm(worker: str, name: str) -> None:
    algo = OmegaConf.to_container(OmegaConf.load(REPOSITORY / "conf" / "algo" / f"{name}.yaml"))
    assert isinstance(algo, dict)
    check_capabilities(spec_of(WORKERS[worker], {str(key): value for key, value in algo.items()}), WORKERS[worker])
