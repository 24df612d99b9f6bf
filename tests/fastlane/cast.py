"""A program of a user's, as Gymnasium's documentation would have it: no word of frames. Its argument: what it steps."""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium


def make(how: str) -> Any:
    if how in ("fork", "spawn"):
        return gymnasium.vector.AsyncVectorEnv(
            [lambda: gymnasium.make("CartPole-v1", max_episode_steps=100)] * 2, context=how
        )
    if how == "parallel":
        from mpe2 import simple_spread_v3

        return simple_spread_v3.parallel_env()
    if how == "turns":
        from mpe2 import simple_spread_v3

        return simple_spread_v3.env()
    return gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode=how)


def play_team(env: Any) -> None:
    env.reset(seed=1)
    while env.agents:
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})


def play_in_turns(env: Any) -> None:
    env.reset(seed=1)
    for agent in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else env.action_space(agent).sample())


def main(how: str) -> None:
    env = make(how)
    while how == "parallel":
        play_team(env)
    while how == "turns":
        play_in_turns(env)
    env.reset(seed=1)
    while True:
        env.step(env.action_space.sample())
        time.sleep(0.001)


if __name__ == "__main__":
    main(sys.argv[1])
