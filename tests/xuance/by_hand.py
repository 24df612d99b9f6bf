"""Runs inside the worker's virtualenv: XuanCe called by hand, and by the worker, with the same configuration.

Prints, for each spec, the names of the policy's tensors that differ, of all.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import mpe2
import torch
from gymnasium.spaces import Dict
from mosaic_worker.emitter import Emitter
from mosaic_worker.session import Session
from mosaic_worker.spec import load_spec
from xuance.environment import make_envs
from xuance.torch.agents import REGISTRY_Agents
from xuance_worker import agents, environments
from xuance_worker.config import XuanCeConfig

NAMES = {False: ("Classic Control", "DummyVecEnv"), True: ("mpe", "DummyVecMultiAgentEnv")}


def by_hand(config: XuanCeConfig, folder: Path) -> Any:
    """XuanCe's agent on XuanCe's environments, trained by one call."""
    team, seed = config.algorithm.team, config.spec.seed
    name, vectorize = NAMES[team]
    places = {"log_dir": str(folder), "model_dir": str(folder)}
    settings = Namespace(**{**config.settings, **places, "env_seed": seed, "env_name": name, "vectorize": vectorize})
    if team:
        module = f"mpe2.{config.spec.env.id}"
        sys.modules["pettingzoo.mpe"] = mpe2
        sys.modules[module.replace("mpe2", "pettingzoo.mpe")] = importlib.import_module(module)
    vector = make_envs(settings)
    if team:
        Dict(vector.envs[0].action_space).seed(seed)  # XuanCe leaves them to chance
    step_wait = vector.step_wait

    def step() -> Any:
        vector.buf_obs = vector.buf_obs.copy()  # train() stores its first observations after they were overwritten
        return step_wait()

    vector.step_wait = step
    agent = REGISTRY_Agents[settings.agent](settings, vector)
    agent.train(config.pace.total // config.pace.num_envs)
    return agent


def by_worker(config: XuanCeConfig, folder: Path) -> Any:
    """The same through the worker's environments, in chunks."""
    pace = config.pace
    session = Session(Emitter(os.open(folder / "events", os.O_WRONLY | os.O_CREAT), config.spec.run_id, 1), folder)
    envs = environments.make_training(config.spec, pace.num_envs, session)
    for env in envs:
        env.reset()  # XuanCe's environments are reset when they are made
    agent = agents.build(config, environments.vector_of(envs), session)
    for start in range(0, pace.total // pace.num_envs, pace.chunk):
        agent.train(min(pace.chunk, pace.total // pace.num_envs - start))
    return agent


def main(*files: str) -> None:
    found = {}
    for file in map(Path, files):
        config, folder = XuanCeConfig.from_spec(load_spec(file)), file.with_suffix("")
        folder.mkdir()
        one, other = (make(config, folder).policy.state_dict() for make in (by_hand, by_worker))
        found[file.stem] = [len(one), [name for name in one if not torch.equal(one[name], other[name])]]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
