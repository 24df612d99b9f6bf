"""Tianshou by hand: its own classes on CartPole, with the canonical defaults. Prints steps a second.

python scripts/bench/by_hand_tianshou.py ppo|dqn STEPS
"""

from __future__ import annotations

import sys
import time
from typing import Any


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


if __name__ == "__main__":
    HAND[sys.argv[1]](int(sys.argv[2]))
