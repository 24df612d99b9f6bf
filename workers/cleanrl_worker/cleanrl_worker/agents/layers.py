"""What the agents share: initialisation, and the two questions that PPO asks an agent."""

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions.categorical import Categorical


def orthogonal(layer: Any, gain: float = float(np.sqrt(2))) -> Any:
    """``layer`` with orthogonal weights and zero bias (Saxe et al. 2014)."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class ActorCritic(nn.Module):
    """A trunk with two heads. Subclasses set ``trunk``, ``actor`` (logits) and ``critic`` (value)."""

    trunk: nn.Module
    actor: nn.Module
    critic: nn.Module

    def get_value(self, x: torch.Tensor) -> torch.Tensor:
        """Values of observations ``x``, shape ``(B, 1)``."""
        value: torch.Tensor = self.critic(self.trunk(x))
        return value

    def get_action_and_value(
        self, x: torch.Tensor, action: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions (drawn, where none are given), their log-probabilities, entropies, and values ``(B, 1)``."""
        features = self.trunk(x)
        policy = Categorical(logits=self.actor(features))
        if action is None:
            action = policy.sample()
        return action, policy.log_prob(action), policy.entropy(), self.critic(features)
