"""Algorithms that learn from a dataset: alone, or as what GAIL is to imitate.

Their networks see actions from -1 to 1, as Tianshou's policies scale them.
"""

import math
from typing import Any

from tianshou.algorithm import BCQ, CQL, GAIL, TD3BC, DiscreteBCQ, DiscreteCQL, DiscreteCRR
from tianshou.algorithm.imitation.bcq import BCQPolicy
from tianshou.algorithm.imitation.discrete_bcq import DiscreteBCQPolicy
from tianshou.algorithm.modelfree.qrdqn import QRDQNPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.utils.net.common import MLP, Net
from tianshou.utils.net.continuous import VAE, Perturbation
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from tianshou_worker.algorithms import actor_critic, on_policy, q_learning
from tianshou_worker.algorithms.recipe import Build, Recipe, adam
from tianshou_worker.config import Pace
from tianshou_worker.native import Settings
from tianshou_worker.networks import body

_HIDDEN = (256, 256)
_DISCRIMINATOR = {"disc_lr": 1e-3}
"""Of GAIL: step size of the optimiser of the network that tells the policy from the dataset."""
_SCALED = {"action_scaling": True}
"""BCQ's policy takes the environment's bounds for 1 where it is not told to scale."""
_FROM_MINUS_ONE = {"min_action": 1.0}
"""CQL draws uniform actions from -min_action, where its own default of -1 would make all of them 1."""


def _bcq(settings: Settings, env: Any, pace: Pace) -> Any:
    hidden = settings.hidden_sizes(_HIDDEN)
    seen, taken = math.prod(env.observation_space.shape), math.prod(env.action_space.shape)
    latent = 2 * taken
    # Perturbation takes the first of what its network returns: Net's values, but one row of an MLP's
    perturbation = Net(state_shape=seen + taken, action_shape=taken, hidden_sizes=hidden)
    vae = VAE(
        encoder=MLP(input_dim=seen + taken, hidden_sizes=hidden),
        decoder=MLP(input_dim=seen + latent, output_dim=taken, hidden_sizes=hidden),
        hidden_dim=hidden[-1],
        latent_dim=latent,
        max_action=1.0,
    )
    policy = settings.make(
        BCQPolicy,
        actor_perturbation=settings.make(Perturbation, preprocess_net=perturbation, max_action=1.0),
        critic=actor_critic.critic(settings, env),
        vae=vae,
        action_space=env.action_space,
        **_SCALED,
    )
    optimizers = {f"{part}_optim": adam(settings) for part in ("actor_perturbation", "critic", "critic2", "vae")}
    return settings.make(BCQ, policy=policy, critic2=actor_critic.critic(settings, env), **optimizers)


def _gail(settings: Settings, env: Any, pace: Pace) -> Any:
    rate = {name: settings.values.get(name, default) for name, default in _DISCRIMINATOR.items()}
    discriminator = {
        "disc_net": actor_critic.critic(settings, env),
        "disc_optim": adam(Settings(rate), "disc_lr"),
        "expert_buffer": settings.values.get("expert_buffer"),  # none where it only plays
    }
    return on_policy.actor_critic(GAIL, **discriminator)(settings, env, pace)


def _discrete_bcq(settings: Settings, env: Any, pace: Pace) -> Any:
    networks = {name: _values(settings, env) for name in ("model", "imitator")}
    policy = settings.make(DiscreteBCQPolicy, action_space=env.action_space, **networks)
    return settings.make(DiscreteBCQ, policy=policy, optim=adam(settings))


def _discrete_crr(settings: Settings, env: Any, pace: Pace) -> Any:
    count, hidden = env.action_space.n, settings.hidden_sizes(_HIDDEN)
    actor = DiscreteActor(preprocess_net=body(env, hidden), action_shape=count, softmax_output=False)
    policy = settings.make(DiscreteActorPolicy, actor=actor, action_space=env.action_space)
    critic = DiscreteCritic(preprocess_net=body(env, hidden), last_size=count)
    return settings.make(DiscreteCRR, policy=policy, critic=critic, optim=adam(settings))


def _values(settings: Settings, env: Any) -> Any:
    return body(env, settings.hidden_sizes(_HIDDEN), action_shape=env.action_space.n)


def _recipe(build: Build, *parts: type, **more: Any) -> Recipe:
    return Recipe(build, parts, on_policy=False, hidden_sizes=_HIDDEN, offline=True, **more)


OFFLINE = {
    "bcq": _recipe(_bcq, BCQ, BCQPolicy, Perturbation, fixed=(*_SCALED, "max_action")),
    "cql": _recipe(actor_critic.soft(CQL, **_FROM_MINUS_ONE), CQL, fixed=(*_FROM_MINUS_ONE, "max_action")),
    "td3_bc": _recipe(actor_critic.deterministic(TD3BC, 2), TD3BC),
    "gail": Recipe(_gail, (GAIL,), on_policy=True, hidden_sizes=on_policy.HIDDEN, own=_DISCRIMINATOR),
    "discrete_bcq": _recipe(_discrete_bcq, DiscreteBCQ, DiscreteBCQPolicy),
    "discrete_cql": Recipe(
        q_learning.build(DiscreteCQL, QRDQNPolicy, q_learning.quantiles),
        (DiscreteCQL, QRDQNPolicy),
        on_policy=False,
        hidden_sizes=q_learning.HIDDEN,
        offline=True,
    ),
    "discrete_crr": _recipe(_discrete_crr, DiscreteCRR),
}
