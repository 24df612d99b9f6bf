"""Algorithms that learn a policy and the values of its actions from a replay buffer."""

import math
from typing import Any

from gymnasium.spaces import Discrete
from tianshou.algorithm import DDPG, REDQ, SAC, TD3, DiscreteSAC
from tianshou.algorithm.modelfree.ddpg import ContinuousDeterministicPolicy
from tianshou.algorithm.modelfree.discrete_sac import DiscreteSACPolicy
from tianshou.algorithm.modelfree.redq import REDQPolicy
from tianshou.algorithm.modelfree.sac import AutoAlpha, FixedAlpha, SACPolicy
from tianshou.exploration import GaussianNoise
from tianshou.utils.net.common import EnsembleLinear
from tianshou.utils.net.continuous import ContinuousActorDeterministic, ContinuousActorProbabilistic, ContinuousCritic
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from tianshou_worker.algorithms.recipe import Build, Recipe, adam
from tianshou_worker.config import Pace
from tianshou_worker.native import Settings
from tianshou_worker.networks import body

_HIDDEN = (256, 256)


def critic(settings: Settings, env: Any) -> Any:
    """A network over observations and actions."""
    return ContinuousCritic(preprocess_net=body(env, settings.hidden_sizes(_HIDDEN), concat=True))


def deterministic(kind: type, critics: int) -> Build:
    """Of a ``kind`` with a policy without randomness."""

    def build(settings: Settings, env: Any, pace: Pace) -> Any:
        network = body(env, settings.hidden_sizes(_HIDDEN))
        actor = ContinuousActorDeterministic(preprocess_net=network, action_shape=env.action_space.shape)
        noise = GaussianNoise(sigma=settings.values.get("exploration_noise", 0.1))
        policy = settings.make(
            ContinuousDeterministicPolicy, actor=actor, exploration_noise=noise, action_space=env.action_space
        )
        given: dict[str, Any] = {
            "policy": policy,
            "policy_optim": adam(settings),
            **_critics(settings, env, critics, "lr"),
        }
        return settings.make(kind, **given)

    return build


def _critics(settings: Settings, env: Any, count: int, rate: str) -> dict[str, Any]:
    """Critics with initial weights of their own, and their optimisers."""
    names = ["critic", "critic2"][:count]
    critics = {name: critic(settings, env) for name in names}
    return {**critics, **{f"{name}_optim": adam(settings, rate) for name in names}}


def _gaussian_actor(settings: Settings, env: Any) -> Any:
    network = body(env, settings.hidden_sizes(_HIDDEN))
    shape = env.action_space.shape
    return ContinuousActorProbabilistic(
        preprocess_net=network, action_shape=shape, unbounded=True, conditioned_sigma=True
    )


def soft(kind: type, **given: Any) -> Build:
    """Of a ``kind`` with SAC's policy, two critics and an entropy coefficient, and whatever else it is ``given``."""

    def build(settings: Settings, env: Any, pace: Pace) -> Any:
        policy = settings.make(SACPolicy, actor=_gaussian_actor(settings, env), action_space=env.action_space)
        critics = _critics(settings, env, 2, "critic_optim.lr")
        optim = adam(settings, "policy_optim.lr")
        return settings.make(kind, policy=policy, policy_optim=optim, alpha=_alpha(settings, env), **critics, **given)

    return build


def _redq(settings: Settings, env: Any, pace: Pace) -> Any:
    policy = settings.make(REDQPolicy, actor=_gaussian_actor(settings, env), action_space=env.action_space)
    size = settings.argument(REDQ, "ensemble_size")

    def linear(inputs: int, outputs: int) -> Any:
        return EnsembleLinear(size, inputs, outputs)

    network = body(env, settings.hidden_sizes(_HIDDEN), concat=True, linear_layer=linear)
    given: dict[str, Any] = {
        "critic": ContinuousCritic(preprocess_net=network, linear_layer=linear, flatten_input=False),
        "policy_optim": adam(settings, "policy_optim.lr"),
        "critic_optim": adam(settings, "critic_optim.lr"),
    }
    return settings.make(REDQ, policy=policy, alpha=_alpha(settings, env), **given)


def _discrete_sac(settings: Settings, env: Any, pace: Pace) -> Any:
    count = env.action_space.n
    hidden = settings.hidden_sizes(_HIDDEN)
    actor = DiscreteActor(preprocess_net=body(env, hidden), action_shape=count, softmax_output=False)
    policy = settings.make(DiscreteSACPolicy, actor=actor, action_space=env.action_space)
    given: dict[str, Any] = {"policy": policy, "policy_optim": adam(settings, "policy_optim.lr")}
    for name in ("critic", "critic2"):
        given[name] = DiscreteCritic(preprocess_net=body(env, hidden), last_size=count)
        given[f"{name}_optim"] = adam(settings, "critic_optim.lr")
    return settings.make(DiscreteSAC, alpha=_alpha(settings, env), **given)


def _alpha(settings: Settings, env: Any) -> Any:
    """The entropy's weight: learned towards the usual target, or fixed."""
    if not settings.values.get("AutoAlpha", True):
        return FixedAlpha(float(settings.values.get("alpha", 0.2)))
    space = env.action_space
    target = 0.98 * math.log(space.n) if isinstance(space, Discrete) else -float(math.prod(space.shape))
    return AutoAlpha(target, 0.0, adam(settings, "critic_optim.lr"))


def _recipe(build: Build, *parts: type) -> Recipe:
    return Recipe(build, parts, on_policy=False, hidden_sizes=_HIDDEN, random_start=True)


ACTOR_CRITIC = {
    "ddpg": _recipe(deterministic(DDPG, 1), DDPG),
    "td3": _recipe(deterministic(TD3, 2), TD3),
    "td3_continuous_action": _recipe(deterministic(TD3, 2), TD3),
    "sac": _recipe(soft(SAC), SAC),
    "redq": _recipe(_redq, REDQ),
    "discrete_sac": _recipe(_discrete_sac, DiscreteSAC),
}
