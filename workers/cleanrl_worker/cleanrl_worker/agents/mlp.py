"""An agent for flat observations."""

from typing import Any

import numpy as np
from torch import nn

from cleanrl_worker.agents.layers import ActorCritic, orthogonal

HIDDEN = 64


class MLPAgent(ActorCritic):
    """Observations ``(B, …)``, flattened, to a shared trunk of two layers; an actor and a critic on top of it."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        inputs = int(np.prod(envs.single_observation_space.shape))
        self.trunk = nn.Sequential(
            nn.Flatten(),
            orthogonal(nn.Linear(inputs, HIDDEN)),
            nn.Tanh(),
            orthogonal(nn.Linear(HIDDEN, HIDDEN)),
            nn.Tanh(),
        )
        self.actor = orthogonal(nn.Linear(HIDDEN, int(envs.single_action_space.n)), 0.01)
        self.critic = orthogonal(nn.Linear(HIDDEN, 1), 1.0)
