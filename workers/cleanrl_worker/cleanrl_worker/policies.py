"""The policy that a script has trained, found among its global names: observations in, actions out.

CleanRL's scripts name their networks alike: ``agent`` (PPO and its kin), ``actor`` (DDPG, TD3, SAC), ``q_network``
(DQN, C51, Rainbow, PQN); with JAX beside a train state of parameters.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from mosaic_worker.errors import UserError
from mosaic_worker.rl.evaluation import Policy
from torch.distributions import Categorical, Normal


def find_policy(names: dict[str, Any], action_space: Any, *, deterministic: bool) -> Policy:
    """The policy among a script's global ``names``.

    Args:
        names: the script's names, with trained networks.
        action_space: of one environment.
        deterministic: the most likely action; else one drawn as in training (the Q-learners: with their last epsilon).

    Raises:
        UserError: this script's policy is not known how to be asked.
    """
    if "q_state" in names or "actor_state" in names:
        policy = _jax_policy(names, action_space, deterministic)
    elif hasattr(names.get("agent"), "get_action_and_value"):
        policy = _agent_policy(names, deterministic)
    elif "actor" in names:
        policy = _actor_policy(names, action_space, deterministic)
    elif "q_network" in names:
        policy = _greedy(_q_actions(names), names, action_space, deterministic)
    else:
        raise UserError("this algorithm's script has no policy that could be asked for actions")
    return policy


def _tensor(names: dict[str, Any], observations: np.ndarray) -> torch.Tensor:
    return torch.Tensor(observations).to(names.get("device", "cpu"))


@contextmanager
def _modes() -> Iterator[None]:
    """Distributions give their modes as samples."""
    kept = Categorical.sample, Normal.sample, Normal.rsample
    Categorical.sample = lambda self, *_: self.probs.argmax(-1)
    Normal.sample = Normal.rsample = lambda self, *_: self.mean
    try:
        yield
    finally:
        Categorical.sample, Normal.sample, Normal.rsample = kept


@contextmanager
def _samples() -> Iterator[None]:
    yield


def _agent_policy(names: dict[str, Any], deterministic: bool) -> Policy:
    agent = names["agent"]
    drawn = _modes if deterministic else _samples
    if hasattr(agent, "lstm"):
        raise UserError("a recurrent policy remembers: it cannot be asked for one action at a time")

    def policy(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad(), drawn():
            actions: np.ndarray = agent.get_action_and_value(_tensor(names, observations))[0].cpu().numpy()
        return actions

    return policy


def _actor_policy(names: dict[str, Any], action_space: Any, deterministic: bool) -> Policy:
    actor = names["actor"]

    def policy(observations: np.ndarray) -> np.ndarray:
        batch = _tensor(names, observations)
        with torch.no_grad():
            if not hasattr(actor, "get_action"):  # DDPG, TD3
                return _with_noise(actor(batch).cpu().numpy(), names, action_space, deterministic)
            action, _, third = actor.get_action(batch)
            if deterministic:  # SAC: the mean of a Gaussian, or the probabilities of discrete actions
                action = third.argmax(-1) if third.shape != action.shape else third
        drawn: np.ndarray = action.cpu().numpy()
        return drawn

    return policy


def _q_actions(names: dict[str, Any]) -> Policy:
    network = names["q_network"]

    def policy(observations: np.ndarray) -> np.ndarray:
        batch = _tensor(names, observations)
        with torch.no_grad():
            if hasattr(network, "get_action"):  # C51
                best = network.get_action(batch)[0]
            else:
                values = network(batch)
                if values.dim() == 3:  # Rainbow: a distribution for each action
                    values = (values * network.support).sum(-1)
                best = values.argmax(-1)
        actions: np.ndarray = best.cpu().numpy()
        return actions

    return policy


def _jax_policy(names: dict[str, Any], action_space: Any, deterministic: bool) -> Policy:
    import jax

    state = names.get("actor_state") or names["q_state"]
    network = names["actor"] if "actor_state" in names else names["q_network"]
    apply = jax.jit(network.apply)

    def policy(observations: np.ndarray) -> np.ndarray:
        output = np.asarray(apply(state.params, observations))
        if "actor_state" in names:
            return _with_noise(output, names, action_space, deterministic)
        values = (output * np.asarray(state.atoms)).sum(-1) if output.ndim == 3 else output
        return np.asarray(values.argmax(-1))

    return policy if "actor_state" in names else _greedy(policy, names, action_space, deterministic)


def _with_noise(actions: np.ndarray, names: dict[str, Any], space: Any, deterministic: bool) -> np.ndarray:
    if deterministic:
        return actions
    deviation = (space.high - space.low) / 2 * names["args"].exploration_noise
    noisy: np.ndarray = np.clip(actions + np.random.normal(0, deviation, actions.shape), space.low, space.high)
    return noisy.astype(actions.dtype)


def _greedy(best: Policy, names: dict[str, Any], space: Any, deterministic: bool) -> Policy:
    def policy(observations: np.ndarray) -> np.ndarray:
        actions = best(observations)
        if not deterministic:
            random = np.random.random(len(actions)) < getattr(names["args"], "end_e", 0.0)
            actions = np.where(random, np.random.randint(space.n, size=len(actions)), actions)
        return actions

    return policy
