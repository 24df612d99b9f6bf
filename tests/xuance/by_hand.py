"""XuanCe called by hand: inside the worker's virtualenv, by ``inside.py``."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import mpe2
from gymnasium.spaces import Dict
from gymnasium.utils.seeding import np_random
from mosaic_worker.rl.monitor import set_random
from xuance.environment import make_envs
from xuance.torch.agents import REGISTRY_Agents
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
    for number, env in enumerate(vector.envs):  # which have used up their seeds: they were reset when they were made
        set_random(env.env.env, np_random(seed + number)[0].bit_generator.state)
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
