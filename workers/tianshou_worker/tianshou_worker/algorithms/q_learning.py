"""Algorithms that learn the value of discrete actions from a replay buffer."""

from collections.abc import Callable
from typing import Any

from tianshou.algorithm import C51, DQN, IQN, QRDQN, RainbowDQN
from tianshou.algorithm.modelfree.c51 import C51Policy
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.iqn import IQNPolicy
from tianshou.algorithm.modelfree.qrdqn import QRDQNPolicy
from tianshou.data import PrioritizedVectorReplayBuffer
from tianshou.utils.net.discrete import ImplicitQuantileNetwork, NoisyLinear

from tianshou_worker.algorithms.recipe import Build, Recipe, adam
from tianshou_worker.config import Pace
from tianshou_worker.native import Settings
from tianshou_worker.networks import body

HIDDEN = (128, 128, 128)
_PRIORITIES = {"alpha": 0.6, "beta": 0.4}
"""Of Rainbow's buffer; Tianshou's class has no defaults for them."""


def build(kind: type, policy_kind: type, network: Callable[[Settings, Any], Any]) -> Build:
    """Of a ``kind`` with one network and one optimiser."""

    def make(settings: Settings, env: Any, pace: Pace) -> Any:
        policy = settings.make(policy_kind, model=network(settings, env), action_space=env.action_space)
        return settings.make(kind, policy=policy, optim=adam(settings))

    return make


def _values(settings: Settings, env: Any) -> Any:
    return body(env, settings.hidden_sizes(HIDDEN), action_shape=env.action_space.n)


def _atoms(settings: Settings, env: Any) -> Any:
    atoms = settings.argument(C51Policy, "num_atoms")
    hidden = settings.hidden_sizes(HIDDEN)
    return body(env, hidden, action_shape=env.action_space.n, softmax=True, num_atoms=atoms)


def _noisy_dueling_atoms(settings: Settings, env: Any) -> Any:
    *shared, last = settings.hidden_sizes(HIDDEN)
    head = {"hidden_sizes": [last], "linear_layer": NoisyLinear}
    atoms = settings.argument(C51Policy, "num_atoms")
    shape = env.action_space.n
    return body(env, shared, action_shape=shape, softmax=True, num_atoms=atoms, dueling_param=(head, dict(head)))


def quantiles(settings: Settings, env: Any) -> Any:
    """A network of quantiles of each action's return."""
    count = settings.argument(QRDQN, "num_quantiles")
    return body(env, settings.hidden_sizes(HIDDEN), action_shape=env.action_space.n, num_atoms=count)


def _implicit_quantiles(settings: Settings, env: Any) -> Any:
    *shared, last = settings.hidden_sizes(HIDDEN)
    network = body(env, shared)
    shape = env.action_space.n
    return settings.make(ImplicitQuantileNetwork, preprocess_net=network, action_shape=shape, hidden_sizes=[last])


def _recipe(kind: type, policy_kind: type, network: Callable[[Settings, Any], Any], *parts: type) -> Recipe:
    return Recipe(build(kind, policy_kind, network), (kind, policy_kind, *parts), on_policy=False, hidden_sizes=HIDDEN)


Q_LEARNING = {
    "dqn": _recipe(DQN, DiscreteQLearningPolicy, _values),
    "c51": _recipe(C51, C51Policy, _atoms),
    "qrdqn": _recipe(QRDQN, QRDQNPolicy, quantiles),
    "iqn": _recipe(IQN, IQNPolicy, _implicit_quantiles, ImplicitQuantileNetwork),
    "rainbow": Recipe(
        build(RainbowDQN, C51Policy, _noisy_dueling_atoms),
        (RainbowDQN, C51Policy),
        on_policy=False,
        hidden_sizes=HIDDEN,
        buffer=PrioritizedVectorReplayBuffer,
        buffer_settings=_PRIORITIES,
    ),
}
