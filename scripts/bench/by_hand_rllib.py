"""RLlib by hand: its own config on Gymnasium's CartPole, all in the driver. Prints steps a second.

The settings are what the worker's dry run says, from standard input; each is an attribute of RLlib's config.

    mosaic-pipe worker=rllib … --dry-run | python scripts/bench/by_hand_rllib.py ALGO STEPS
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")


def main(algo: str, steps: int) -> None:
    settings = json.load(sys.stdin)["worker"]["settings"]
    import ray
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, object_store_memory=200 * 2**20)
    if algo == "ppo":
        network = DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False)
        config = PPOConfig().training(use_kl_loss=False, vf_clip_param=math.inf)
    else:
        network = DefaultModelConfig(fcnet_hiddens=[128, 128], fcnet_activation="relu")
        buffer = {"type": "EpisodeReplayBuffer", "capacity": 10_000}
        config = DQNConfig().training(double_q=False, dueling=False, replay_buffer_config=buffer)
    config.environment("CartPole-v1").rl_module(model_config=network).reporting(log_gradients=False)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=4 if algo == "ppo" else 1)
    config.learners(num_learners=0, num_gpus_per_learner=0).debugging(seed=1, log_level="ERROR")
    for name, value in settings.items():
        setattr(config, name, value)
    algorithm = config.build_algo()
    begun, taken = time.monotonic(), 0
    while taken < steps:
        taken = int(algorithm.train()["num_env_steps_sampled_lifetime"])
    print(taken / (time.monotonic() - begun))
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
