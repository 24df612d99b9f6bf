"""A convolutional agent for the partial views of MiniGrid and BabyAI."""

from typing import Any

import torch
from torch import nn

from cleanrl_worker.agents.layers import ActorCritic, orthogonal

IMAGE_SHAPE = (7, 7, 3)
HIDDEN = 128


class MinigridCNN(nn.Module):
    """Images ``(B, 7, 7, 3)`` to features ``(B, 128)``."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            orthogonal(nn.Conv2d(3, 32, 3, padding=1)),
            nn.ReLU(),
            orthogonal(nn.Conv2d(32, 64, 3, padding=1)),
            nn.ReLU(),
            orthogonal(nn.Conv2d(64, 64, 3, padding=1)),
            nn.ReLU(),
            nn.Flatten(),
            orthogonal(nn.Linear(64 * 7 * 7, HIDDEN)),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features of ``images``, whose values are bytes of any dtype."""
        features: torch.Tensor = self.layers(images.permute(0, 3, 1, 2).float() / 255.0)
        return features


class MinigridAgent(ActorCritic):
    """:class:`MinigridCNN` with an actor and a critic of one hidden layer each."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        self.trunk = MinigridCNN()
        self.actor = _head(int(envs.single_action_space.n), gain=0.01)
        self.critic = _head(1, gain=1.0)


def _head(outputs: int, gain: float) -> nn.Module:
    return nn.Sequential(orthogonal(nn.Linear(HIDDEN, HIDDEN)), nn.ReLU(), orthogonal(nn.Linear(HIDDEN, outputs), gain))
