"""Environments stepped by hand, with what a team was seen to do: inside the worker's virtualenv, by ``inside.py``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from mosaic_worker.rl.team import TeamEnv

PACKAGES = {"lbf": "lbforaging", "rware": "rware"}


class Witness:
    """From now on remembers what is asked of each team's environment."""

    def __init__(self) -> None:
        self.asked: dict[TeamEnv, list[tuple[str, Any]]] = {}
        reset, step = TeamEnv.reset, TeamEnv.step

        def seen_reset(env: TeamEnv, *, seed: int | None = None, options: Any = None) -> Any:
            self.asked.setdefault(env, []).append(("reset", seed))
            return reset(env, seed=seed, options=options)

        def seen_step(env: TeamEnv, action: dict[str, Any]) -> Any:
            self.asked[env].append(("step", {agent: np.array(one) for agent, one in action.items()}))
            return step(env, action)

        TeamEnv.reset, TeamEnv.step = seen_reset, seen_step  # type: ignore[method-assign, assignment]


def replayed(spec: Any, envs: list[TeamEnv], witness: Witness) -> list[list[Any]]:
    """Returns of the agents and length of each episode, in the order in which they ended."""
    found = []
    for number, env in enumerate(envs):
        play = _particles if spec.env.family == "mpe" else _tuples
        found += [(at, number, *episode) for at, *episode in play(spec, witness.asked[env])]
    return [episode for _, _, *episode in sorted(found, key=lambda ended: ended[:2])]


def _particles(spec: Any, asked: list[tuple[str, Any]]) -> Iterator[tuple[int, dict[str, float], int]]:
    env = importlib.import_module(f"mpe2.{spec.env.id}").parallel_env(**spec.env.kwargs)
    steps = length = 0
    for what, with_what in asked:
        if what == "reset":
            env.reset(seed=with_what)
            returns, length = dict.fromkeys(env.agents, 0.0), 0
            continue
        _, rewards, terminated, truncated, _ = env.step(with_what)
        returns = {agent: total + rewards[agent] for agent, total in returns.items()}
        steps, length = steps + 1, length + 1
        if all(terminated.values()) or all(truncated.values()):
            yield steps, returns, length


def _tuples(spec: Any, asked: list[tuple[str, Any]]) -> Iterator[tuple[int, dict[str, float], int]]:
    importlib.import_module(PACKAGES[spec.env.family])
    env = gymnasium.make(spec.env.id, disable_env_checker=True, **spec.env.kwargs)
    steps = length = 0
    for what, with_what in asked:
        if what == "reset":
            env.reset(seed=with_what)
            returns, length = [0.0] * spec.env.agents, 0
            continue
        _, rewards, over, _, _ = env.step([int(with_what[f"agent_{number}"]) for number in range(len(returns))])
        returns = [total + reward for total, reward in zip(returns, rewards, strict=True)]
        steps, length = steps + 1, length + 1
        if over:
            yield steps, {f"agent_{number}": float(total) for number, total in enumerate(returns)}, length
