"""What agents must remember of an episode to act in it: hidden states, and what the others did."""

from typing import Any

import gymnasium
import numpy as np
import torch
from mosaic_worker.errors import UserError

from xuance_worker.config import XuanCeConfig

Hidden = dict[str, tuple[Any, ...]]
"""For each network its hidden state, and where it has one its cell: layers, environments (times agents), units."""


class Seen(dict[str, Any]):
    """What the agents see, with what they remember of the episode."""

    def __init__(self, parts: dict[str, Any], memory: dict[str, Any]) -> None:
        super().__init__(parts)
        self.memory = memory


class Remembering(gymnasium.Wrapper):
    """An environment whose observations bring the memory of their episode with them.

    So a policy may be asked about any of many environments, at any time.
    """

    def reset(self, **options: Any) -> Any:
        """Begin an episode, with nothing to remember."""
        self._memory: dict[str, Any] = {}
        observation, info = self.env.reset(**options)
        return Seen(observation, self._memory), info

    def step(self, action: Any) -> Any:
        """Take a step."""
        observation, *rest = self.env.step(action)
        return Seen(observation, self._memory), *rest


class Recall:
    """From the memories of what an agent sees to what its ``get_actions`` is told, and back."""

    def __init__(self, agent: Any, config: XuanCeConfig) -> None:
        self._agent, self._on_policy = agent, config.algorithm.on_policy
        self._each = agent.n_agents if agent.use_parameter_sharing else 1

    def told(self, observations: Any) -> dict[str, Any]:
        """The arguments that hold what is remembered.

        Raises:
            UserError: an observation has no memory: it came from somewhere else.
        """
        if not all(isinstance(seen, Seen) for seen in observations):
            raise UserError("these agents remember: they can only be asked about the current observation")
        alive = dict.fromkeys(self._agent.agent_keys, True)
        found = {
            "agent_mask": [alive] * len(observations),
            "info": [{"agent_mask": alive}] * len(observations),
            "act_mean_dict": [seen.memory.get("actions_mean") or self._no_actions() for seen in observations],
        }
        if self._agent.use_rnn:
            name = "rnn_hidden_actor" if self._on_policy else "rnn_hidden"
            found[name] = _joined([seen.memory.get("hidden") or self._no_hidden() for seen in observations])
        return found

    def keep(self, observations: Any, found: dict[str, Any]) -> None:
        """Remember what came of them."""
        hidden = found["rnn_hidden_actor" if self._on_policy else "hidden_state"]
        for number, seen in enumerate(observations):
            if "actions_mean" in found:
                seen.memory["actions_mean"] = found["actions_mean"][number]
            if self._agent.use_rnn:
                seen.memory["hidden"] = _part(hidden, slice(number * self._each, (number + 1) * self._each))

    def _no_actions(self) -> Any:
        return {agent: np.zeros(getattr(self._agent, "n_actions_max", 0)) for agent in self._agent.agent_keys}

    def _no_hidden(self) -> Hidden:
        hidden = self._agent.init_rnn_hidden(1)
        found: Hidden = hidden[0] if self._on_policy else hidden
        return found


def _joined(each: list[Hidden]) -> Hidden:
    together = {key: zip(*(one[key] for one in each), strict=True) for key in each[0]}
    return {
        key: tuple(None if kind[0] is None else torch.cat(kind, 1) for kind in kinds) for key, kinds in together.items()
    }


def _part(hidden: Hidden, rows: slice) -> Hidden:
    return {key: tuple(None if kind is None else kind[:, rows] for kind in kinds) for key, kinds in hidden.items()}
