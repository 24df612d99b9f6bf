"""Training environments as an env runner makes them, in whichever process it is."""

from typing import Any

import gymnasium
from mosaic_worker.rl import making
from mosaic_worker.rl import team as particles
from mosaic_worker.rl.training_env import TrainingEnv

from rllib_worker.reports import TALLY
from rllib_worker.team import Team


def make(context: Any) -> gymnasium.Env:
    """The plain environment that ``context`` (``id``, ``family``, ``kwargs``) names."""
    if context["family"] == "mpe":
        return particles.make(context["id"], context["kwargs"])
    return making.make(context["id"], context["kwargs"])


class Seeded(TrainingEnv):
    """Takes its own seed instead of RLlib's, which are not the same for the same number of environments."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode, or come to where an earlier run was."""
        return super().reset(options=options)


def make_training(context: Any) -> gymnasium.Env:
    """The next environment of this process's env runner; RLlib's context adds ``worker_index``.

    Seeds are ``seed``, ``seed + 1``, … over all environments of all env runners; RLlib's own overlap.
    """
    before = (max(context.worker_index, 1) - 1) * context["envs_per_runner"]
    env = Seeded(make(context), context["seed"] + before + TALLY.next_environment(), TALLY)
    return Team(env) if context["family"] == "mpe" else env


def training_env_of(env: Any) -> TrainingEnv:
    """What watches the environment, among the wrappers around it."""
    while not isinstance(env, TrainingEnv):
        env = env.env
    return env
