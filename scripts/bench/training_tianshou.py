"""Steps a second of Tianshou through mosaic-pipe, against the same program written by hand in the same virtualenv.

CartPole with the canonical defaults; pairs alternate, both with one thread and on the same core. The clock runs from
the first step to the end of training; CPU time is of the whole process, its imports and compilation included. The goal
is a ratio of at least 0.98. Differences under a few percent need many pairs: machines drift.

    .venv/bin/python scripts/bench/training_tianshou.py [PAIRS [STEPS [ALGO]]]
    .venv/bin/python scripts/bench/training_tianshou.py 5 20000 dqn
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("mosaic-pipe"))
OVERRIDES = {"ppo": [], "dqn": ["algo.learning_starts=1000"]}


def through_mosaic_pipe(algo: str, steps: int, folder: str) -> tuple[float, float]:
    """Steps a second, and seconds of CPU."""
    overrides = ["worker=tianshou", f"algo={algo}", *OVERRIDES[algo], f"total_timesteps={steps}", "tracking=none"]
    subprocess.run([COMMAND, *overrides, f"output_dir={folder}"], check=True, capture_output=True)
    manifest = json.loads((max(Path(folder, "runs").iterdir()) / "manifest.json").read_text())
    assert manifest["summary"]["env_steps"] == steps, f"a budget that is no whole number of collections: {steps}"
    return manifest["summary"]["sps"], manifest["resources"]["cpu_seconds"]


def by_hand(python: str, algo: str, steps: int, folder: str) -> tuple[float, float]:
    """The same numbers of this file's ``HAND``, run by the worker's Python; CPU until the process is gone, as there."""
    before = _cpu_of_children()
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [python, __file__, "--by-hand", algo, str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=variables)
    return float(done.stdout.split()[-1]), _cpu_of_children() - before


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def hand_ppo(steps: int) -> None:
    """PPO as conf/algo/ppo.yaml has it."""
    from tianshou.algorithm import PPO
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.trainer import OnPolicyTrainerParams
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
    from torch import nn

    env, envs = _cartpoles(4)
    nets = [Net(state_shape=(4,), hidden_sizes=[64, 64], activation=nn.Tanh) for _ in range(2)]
    actor = DiscreteActor(preprocess_net=nets[0], action_shape=2, softmax_output=False)
    optim = AdamOptimizerFactory(lr=2.5e-4)
    optim.with_lr_scheduler_factory(LRSchedulerFactoryLinear(1, steps, 512))
    algorithm = PPO(
        policy=DiscreteActorPolicy(actor=actor, action_space=env.action_space),
        critic=DiscreteCritic(preprocess_net=nets[1]),
        optim=optim,
        eps_clip=0.2,
        value_clip=True,
        advantage_normalization=True,
        ent_coef=0.01,
        vf_coef=0.5,
        max_grad_norm=0.5,
        gae_lambda=0.95,
        gamma=0.99,
    )
    buffer = VectorReplayBuffer(512, 4)
    collector = Collector(algorithm, envs, buffer, exploration_noise=True, raise_on_nan_in_buffer=False)
    params = OnPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=steps,
        collection_step_num_env_steps=512,
        batch_size=128,
        update_step_num_repetitions=4,
        verbose=False,
        show_progress=False,
    )
    collector.reset_env()
    _timed(steps, lambda: algorithm.create_trainer(params).run(reset_collectors=False))


def hand_dqn(steps: int) -> None:
    """DQN as conf/algo/dqn.yaml has it, but for a buffer that is filled with 1000 steps."""
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.trainer import OffPolicyTrainerParams
    from tianshou.utils.net.common import Net
    from tianshou.utils.torch_utils import policy_within_training_step

    env, envs = _cartpoles(1)
    model = Net(state_shape=(4,), action_shape=2, hidden_sizes=[128, 128, 128])
    policy = DiscreteQLearningPolicy(model=model, action_space=env.action_space)
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=2.5e-4), gamma=0.99, target_update_freq=50)
    buffer = VectorReplayBuffer(10_000, 1)
    collector = Collector(algorithm, envs, buffer, exploration_noise=True, raise_on_nan_in_buffer=False)
    params = OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=steps - 1000,
        collection_step_num_env_steps=10,
        update_step_num_gradient_steps_per_sample=0.1,
        batch_size=128,
        training_fn=lambda epoch, step: policy.set_eps_training(max(0.05, 1 - 0.95 * (step + 1000) / (0.5 * steps))),
        verbose=False,
        show_progress=False,
    )
    collector.reset_env()

    def train() -> None:
        with policy_within_training_step(policy):
            for filled in range(0, 1000, 10):
                policy.set_eps_training(max(0.05, 1 - 0.95 * filled / (0.5 * steps)))
                collector.collect(n_step=10)
        algorithm.create_trainer(params).run(reset_collectors=False)

    _timed(steps, train)


HAND = {"ppo": hand_ppo, "dqn": hand_dqn}


def _cartpoles(count: int) -> tuple[Any, Any]:
    import gymnasium
    import torch
    from tianshou.env import DummyVectorEnv

    torch.manual_seed(1)
    envs = DummyVectorEnv([lambda: gymnasium.make("CartPole-v1") for _ in range(count)])
    envs.seed(1)
    return gymnasium.make("CartPole-v1"), envs


def _timed(steps: int, train: Any) -> None:
    begun = time.monotonic()
    train()
    print(steps / (time.monotonic() - begun))


def main() -> None:
    if sys.argv[1:2] == ["--by-hand"]:
        HAND[sys.argv[2]](int(sys.argv[3]))
        return
    given = dict(enumerate(sys.argv))
    pairs, steps, algo = int(given.get(1, 5)), int(given.get(2, 51_200)), given.get(3, "ppo")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    installed = subprocess.run([COMMAND, "workers", "install", "tianshou", "--json"], check=True, capture_output=True)
    python = json.loads(installed.stdout)["python"]
    ratios: list[tuple[float, float]] = []
    print(f"{algo}, {steps} steps; load before: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            if pair % 2:
                hand, ours = by_hand(python, algo, steps, folder), through_mosaic_pipe(algo, steps, folder)
            else:
                ours, hand = through_mosaic_pipe(algo, steps, folder), by_hand(python, algo, steps, folder)
            ratios.append((ours[0] / hand[0], hand[1] / ours[1]))
            print(
                f"mosaic-pipe {ours[0]:.0f} steps/s, {ours[1]:.1f} s of CPU; by hand {hand[0]:.0f} steps/s, "
                f"{hand[1]:.1f} s; ratios {ratios[-1][0]:.3f}, {ratios[-1][1]:.3f}",
                flush=True,
            )
    for what, values in zip(("steps a second", "CPU"), zip(*ratios, strict=True), strict=True):
        print(f"{what}: median {statistics.median(values):.3f}, from {min(values):.3f} to {max(values):.3f}")
    print(f"load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
