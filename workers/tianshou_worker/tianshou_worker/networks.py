"""Multilayer perceptrons for vector observations, from Tianshou's own building blocks."""

from typing import Any

from tianshou.utils.net.common import Net
from torch import nn


def body(env: Any, hidden_sizes: list[int], *, activation: type[nn.Module] = nn.ReLU, **options: Any) -> Net:
    """A network over observations; with ``concat=True`` over observations and actions."""
    shape = env.action_space.shape or env.action_space.n if options.get("concat") else 0
    return Net(
        state_shape=env.observation_space.shape,
        hidden_sizes=hidden_sizes,
        activation=activation,
        **{"action_shape": shape, **options},
    )
