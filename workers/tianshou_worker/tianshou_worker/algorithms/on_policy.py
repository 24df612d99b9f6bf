"""Algorithms that learn from what the present policy has just collected."""

from typing import Any

from gymnasium.spaces import Discrete
from tianshou.algorithm import A2C, NPG, PPO, TRPO, Reinforce
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy, ProbabilisticActorPolicy
from tianshou.utils.net.continuous import ContinuousActorProbabilistic
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from torch import nn
from torch.distributions import Distribution, Independent, Normal

from tianshou_worker.algorithms.recipe import Build, Recipe, adam
from tianshou_worker.config import Pace
from tianshou_worker.native import Settings
from tianshou_worker.networks import body

HIDDEN = (64, 64)


def _policy(settings: Settings, env: Any) -> Any:
    space = env.action_space
    network = body(env, settings.hidden_sizes(HIDDEN), activation=nn.Tanh)
    if isinstance(space, Discrete):
        actor = DiscreteActor(preprocess_net=network, action_shape=space.n, softmax_output=False)
        return settings.make(DiscreteActorPolicy, actor=actor, action_space=space)
    actor = ContinuousActorProbabilistic(preprocess_net=network, action_shape=space.shape, unbounded=True)
    return settings.make(ProbabilisticActorPolicy, actor=actor, dist_fn=_gaussian, action_space=space)


def _gaussian(mean_and_deviation: tuple[Any, Any]) -> Distribution:
    return Independent(Normal(*mean_and_deviation), 1)


def _optimizer(settings: Settings, pace: Pace) -> Any:
    return adam(settings, schedule=pace if settings.values.get("anneal_learning_rate") else None)


def actor_critic(kind: type, **given: Any) -> Build:
    """Of a ``kind`` with a policy and a critic, and whatever else it is ``given``."""

    def build(settings: Settings, env: Any, pace: Pace) -> Any:
        policy = _policy(settings, env)
        critic = DiscreteCritic(preprocess_net=body(env, settings.hidden_sizes(HIDDEN), activation=nn.Tanh))
        return settings.make(kind, policy=policy, critic=critic, optim=_optimizer(settings, pace), **given)

    return build


def _reinforce(settings: Settings, env: Any, pace: Pace) -> Any:
    return settings.make(Reinforce, policy=_policy(settings, env), optim=_optimizer(settings, pace))


def _recipe(kind: type, build: Build) -> Recipe:
    return Recipe(build, (kind,), on_policy=True, hidden_sizes=HIDDEN)


ON_POLICY = {
    "ppo": _recipe(PPO, actor_critic(PPO)),
    "ppo_continuous_action": _recipe(PPO, actor_critic(PPO)),
    "a2c": _recipe(A2C, actor_critic(A2C)),
    "trpo": _recipe(TRPO, actor_critic(TRPO)),
    "npg": _recipe(NPG, actor_critic(NPG)),
    "reinforce": _recipe(Reinforce, _reinforce),
}
