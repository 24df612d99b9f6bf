"""Playing episodes with a trained policy, several side by side."""

import json
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Iterable, List, Optional

import gymnasium
import numpy as np
import torch

from mosaic_worker.files import write_atomically
from mosaic_worker.protocol import Event
from mosaic_worker.rl.making import render_without_a_screen
from mosaic_worker.rl.monitor import agent_returns, monitor_of
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec

Policy = Callable[[np.ndarray], np.ndarray]
"""Actions for a batch of observations."""


@dataclass(frozen=True)
class Episode:
    """One played episode; returns are of raw rewards."""

    seed: int
    episode_return: float
    discounted_return: float
    length: int
    cut: bool
    """Whether ``eval.max_episode_steps`` ended it."""
    agent_returns: Optional[Dict[str, float]] = None
    """Where several agents act, the return of each; ``episode_return`` is their sum."""

    def as_dict(self) -> Dict[str, Any]:
        """As plain data, without what there is not."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def evaluate(
    spec: Spec,
    session: Session,
    make_env: Callable[[], gymnasium.Env],
    make_policy: Callable[[gymnasium.Env], Policy],
    *,
    counts: bool = True,
) -> None:
    """Play what ``spec.eval`` asks for; reports ``eval_completed`` and writes ``eval.json`` into the run's directory.

    Args:
        spec: the run's.
        session: told of every step and episode.
        make_env: makes an environment with a :class:`~mosaic_worker.rl.monitor.Monitor` in it.
        make_policy: the trained policy for such an environment.
        counts: whether its steps are the run's environment steps.
    """
    settings = spec.eval
    batches: List[Dict[str, Any]] = []
    episodes: List[Episode] = []
    if settings.video:
        render_without_a_screen()
    for repetition in range(settings.repeat):
        begun = time.monotonic()
        seeds = [spec.seed + repetition * settings.episodes + number for number in range(settings.episodes)]
        envs = [make_env() for _ in range(min(settings.batch_size, settings.episodes))]
        if settings.video:
            envs[0] = _recorded(envs[0], session, repetition)
        torch.manual_seed(seeds[0])
        np.random.seed(seeds[0] % 2**32)
        policy = make_policy(envs[0])
        played = _play(envs, seeds, policy, settings, session, counts=counts)
        for env in envs:
            env.close()
        episodes += played
        seconds = round(time.monotonic() - begun, 3)
        batches.append({"batch_index": repetition, **summarize(played), "duration": seconds})
    if settings.video:
        session.artifact("videos", session.run_dir / "videos")
    result = {
        **summarize(episodes),
        "deterministic": settings.deterministic,
        "gamma": settings.gamma,
        "batches": batches,
        "episodes": [episode.as_dict() for episode in episodes],
    }
    if session.updates is not None:
        result["updates"] = session.updates
    text = json.dumps(result, indent=2).encode()
    write_atomically(session.run_dir / "eval.json", lambda file: file.write(text + b"\n"))
    session.artifact("eval", session.run_dir / "eval.json")
    session.emit(Event.EVAL_COMPLETED, result)


def summarize(episodes: List[Episode]) -> Dict[str, Any]:
    """Mean, deviation, interquartile mean (Agarwal et al. 2021) and the rest, of at least one episode."""
    returns = np.sort([episode.episode_return for episode in episodes])
    quarter = len(returns) // 4
    return {
        "episode_count": len(returns),
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std()),
        "return_iqm": float(returns[quarter : len(returns) - quarter].mean()),
        "return_median": float(np.median(returns)),
        "return_min": float(returns[0]),
        "return_max": float(returns[-1]),
        "discounted_return_mean": float(np.mean([episode.discounted_return for episode in episodes])),
        "length_mean": float(np.mean([episode.length for episode in episodes])),
    }


def _play(
    envs: List[gymnasium.Env], seeds: List[int], policy: Policy, settings: Spec, session: Session, *, counts: bool
) -> List[Episode]:
    """An episode for each seed, in the order of ``seeds``; environment i plays every ``len(envs)``-th of them.

    Which episodes are played does not depend on which end first, so that short ones do not count more.
    """
    waiting = [seeds[number :: len(envs)] for number in range(len(envs))]
    players = [Player(env, own, settings, session, counts=counts) for env, own in zip(envs, waiting)]
    while playing := [player for player in players if player.playing]:
        actions = policy(np.stack([np.asarray(player.observation) for player in playing]))
        for player, action in zip(playing, actions):
            player.step(action)
    by_seed = {episode.seed: episode for player in players for episode in player.played}
    return [by_seed[seed] for seed in seeds]


class Player:
    """One environment and the episodes that it plays, one after the other, each with its seed."""

    def __init__(
        self, env: gymnasium.Env, seeds: Iterable[int], settings: Spec, session: Session, *, counts: bool = True
    ) -> None:
        self._env, self._settings, self._session = env, settings, session
        self._monitor = monitor_of(env)
        self._seeds, self._count = iter(seeds), session.tick if counts else session.aside
        self.observation: Any = None
        self.played: List[Episode] = []
        self._return = self._discounted = 0.0
        self._length = 0
        self._next_episode()

    def step(self, action: Any) -> None:
        """Take a step; the end of an episode is reported, and the next one begun where there is another seed."""
        self.observation, _, terminated, truncated, _ = self._env.step(action)
        self._length += 1
        self._count()
        total = self._monitor.episode_return
        self._discounted += self._settings.gamma ** (self._length - 1) * (total - self._return)
        self._return = total
        over = self._monitor.finished is not None
        limit = self._settings.max_episode_steps
        if over or (limit is not None and self._length >= limit):
            self._end(cut=not over)
        elif terminated or truncated:  # a life, not the game
            self.observation, _ = self._env.reset()

    def _end(self, *, cut: bool) -> None:
        length = self._monitor.finished[1] if self._monitor.finished else self._length
        each = agent_returns(self._env)
        self.played.append(Episode(self._seed, self._return, self._discounted, length, cut, each))
        self._session.eval_episode(self._return, length, agent_returns=each)
        self._next_episode()

    def _next_episode(self) -> None:
        seed = next(self._seeds, None)
        self.playing = seed is not None
        if seed is None:
            return
        self._seed = seed
        self.observation, _ = self._env.reset(seed=self._seed)
        self._monitor.finished = None
        self._return = self._discounted = 0.0
        self._length = 0


def _recorded(env: gymnasium.Env, session: Session, repetition: int) -> gymnasium.Env:
    return gymnasium.wrappers.RecordVideo(
        env,
        str(session.run_dir / "videos"),
        episode_trigger=lambda episode: episode == 0,
        name_prefix=f"eval-{repetition}",
        disable_logger=True,
    )
