"""XuanCe by hand: its own agents on its own environments. Prints steps a second.

The configuration is what the worker's dry run says, from standard input; nobody writes logs.

    mosaic-pipe worker=xuance … --dry-run | python scripts/bench/by_hand_xuance.py ALGO STEPS
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from argparse import Namespace

os.environ["TQDM_DISABLE"] = "1"


def main(steps: int) -> None:
    answer = json.load(sys.stdin)
    team = answer["spec"]["env"].get("agents", 1) > 1
    name, vectorize = ("mpe", "DummyVecMultiAgentEnv") if team else ("Classic Control", "DummyVecEnv")
    if team:  # PettingZoo has them no more
        sys.modules["pettingzoo.mpe"] = importlib.import_module("mpe2")
        scenario = answer["spec"]["env"]["id"]
        sys.modules[f"pettingzoo.mpe.{scenario}"] = importlib.import_module(f"mpe2.{scenario}")
    from xuance.environment import make_envs
    from xuance.torch.agents import REGISTRY_Agents

    places = {"log_dir": "logs", "model_dir": "models", "env_seed": 1, "env_name": name, "vectorize": vectorize}
    settings = Namespace(**{**answer["worker"]["settings"], **places})
    agent = REGISTRY_Agents[settings.agent](settings, make_envs(settings))
    agent.log_infos = lambda info, step: None
    begun = time.monotonic()
    agent.train(steps // settings.parallels)
    print(steps / (time.monotonic() - begun))


if __name__ == "__main__":
    main(int(sys.argv[2]))
