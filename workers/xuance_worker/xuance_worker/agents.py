"""XuanCe's agents: made from a configuration, reporting to the session, and asked for actions."""

import inspect
import shutil
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mosaic_worker.errors import UserError
from mosaic_worker.rl.evaluation import Policy
from mosaic_worker.session import Session
from xuance.torch.agents import REGISTRY_Agents
from xuance.torch.policies.core import CategoricalActorNet_SAC, GaussianActorNet_SAC

from xuance_worker.config import XuanCeConfig
from xuance_worker.environments import Scaling
from xuance_worker.memory import Recall
from xuance_worker.recurrent import in_episodes
from xuance_worker.team import bounds, clip

STEPS = 1000
"""Environment steps between two reports of the library's metrics, about."""


def build(config: XuanCeConfig, vector: Any, session: Session) -> Any:
    """The agent of ``config``; its metrics go to the session.

    Raises:
        UserError: XuanCe has no such algorithm for agents that see different things.
    """
    directory = session.run_dir / "xuance"
    settings = {**config.settings, "log_dir": str(directory), "model_dir": str(directory)}
    if config.algorithm.team and len({str(space) for space in vector.observation_space.values()}) > 1:
        if config.algorithm.alike:
            algo, env_id = config.spec.algo.name, config.spec.env.id
            raise UserError(
                f"algo.name: XuanCe's {algo} needs agents that see alike, and those of {env_id} do not: "
                "ippo does without"
            )
        settings["use_parameter_sharing"] = False  # one network takes observations of one shape
    if config.recurrent:
        settings.update(in_episodes(config, vector.max_episode_steps))
    agent = REGISTRY_Agents[settings["agent"]](Options(**settings), vector)
    _pace(agent, config)
    _remove_files(agent, directory)
    agent.log_infos = Reporter(session)
    return agent


class Options(Namespace):
    """XuanCe's configuration; COMA turns a loss off by a threshold of None, which this torch refuses."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, 1.0 if name == "huber_delta" and value is None else value)


class Best:
    """A distribution of actions that always gives its best one; XuanCe's SAC has no other way to ask for it."""

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    def stochastic_sample(self) -> Any:
        """The most probable action, of finitely many."""
        return self._distribution.deterministic_sample()

    def activated_rsample(self) -> Any:
        """The mean, within its bounds."""
        return self._distribution.activation_fn(self._distribution.mu)

    def activated_rsample_and_logprob(self) -> tuple[Any, Any]:
        """The mean, and nothing about its probability: only updates want that."""
        best = self.activated_rsample()
        return best, torch.zeros(best.shape[:-1])


class Reporter:
    """Takes the place of ``agent.log_infos``, which hears of everything that XuanCe reports."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._due = 0

    def __call__(self, info: dict[str, Any], step: int) -> None:
        """Numbers of one kind; episodes are reported by their environments."""
        if not info or "Episode" in next(iter(info)) or self._session.env_steps < self._due:
            return
        self._due = self._session.env_steps + STEPS
        for name, value in _numbers(info, ""):
            self._session.metric(name, value, self._session.env_steps)


def player(agent: Any, config: XuanCeConfig, env: Any) -> Policy:
    """Actions of ``agent`` for a batch of observations: its best ones, or those that training would take."""
    best = config.spec.eval.deterministic
    how = _known(agent, {"deterministic": best, "test_mode": best})
    if best:
        agent.policy.policy_type = "greedy"  # mean-field Q-learning draws in proportion to the values
        for module in agent.policy.modules():
            if isinstance(module, GaussianActorNet_SAC | CategoricalActorNet_SAC):
                module.register_forward_hook(lambda module, inputs, distribution: Best(distribution))
    if config.algorithm.team:
        if config.algorithm.on_policy:
            how["test_mode"] = True  # without values, which nobody asks for
        return _team_player(agent, how, env.unwrapped, Recall(agent, config) if config.remembers else None)
    scaling, seen_as = Scaling(env.action_space), np.uint8 if agent.atari else np.float32

    def act(observations: np.ndarray) -> np.ndarray:
        agent.n_envs = len(observations)
        seen = agent._process_observation(observations.astype(seen_as))
        with torch.no_grad():
            found = agent.get_actions(seen, **how)
        actions = found["actions"] if isinstance(found, dict) else found  # NoisyDQN gives them bare
        return np.stack([scaling(action) for action in np.asarray(actions)])

    return act


def _team_player(agent: Any, how: dict[str, bool], team: Any, recall: Recall | None) -> Policy:
    limits = bounds(team.action_space.spaces)

    def act(observations: np.ndarray) -> np.ndarray:
        state = np.zeros((len(observations), *team.state_space.shape), np.float32)  # only critics look at it
        told = _known(agent, {**how, "state": state, **(recall.told(observations) if recall else {})})
        with torch.no_grad():
            found = agent.get_actions(obs_dict=list(observations), **told)
        if recall:
            recall.keep(observations, found)
        for actions in found["actions"]:
            clip(actions, limits)
        return np.array(found["actions"])

    return act


def _known(agent: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Those that the agent's ``get_actions`` takes."""
    known = inspect.signature(agent.get_actions).parameters
    return {name: value for name, value in arguments.items() if name in known}


def _pace(agent: Any, config: XuanCeConfig) -> None:
    """Correct what XuanCe derives from the wrong count."""
    pace, settings = config.pace, config.settings
    if settings["agent"] == "A2C":  # its learning rate would fall as if every environment step were an update
        updates = pace.total // pace.train_interval * settings["n_epochs"] * settings["n_minibatch"]
        agent.learner.scheduler.total_iters = updates


def _remove_files(agent: Any, directory: Path) -> None:
    """XuanCe has no way not to write TensorBoard's files of its own."""
    agent.writer.close()
    shutil.rmtree(directory, ignore_errors=True)


def _numbers(info: dict[str, Any], path: str) -> Iterator[tuple[str, float]]:
    for name, value in info.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{name}/")
        elif value is not None and np.ndim(value) == 0:
            yield f"{path}{name}", float(value)
