"""Training environments as an env runner makes them, in whichever process it is."""

from typing import Any

import gymnasium
from mosaic_worker.rl.training_env import TrainingEnv

from rllib_worker.reports import TALLY


def make(context: Any) -> gymnasium.Env:
    """The plain environment that ``context`` (``id``, ``kwargs``) names, as Gymnasium makes it."""
    # rgb_array is what frames need, and costs nothing until something renders
    return gymnasium.make(context["id"], **{"render_mode": "rgb_array", **context["kwargs"]})


def make_training(context: Any) -> gymnasium.Env:
    """The next environment of this process's env runner; RLlib's context adds ``worker_index``.

    Seeds are ``seed``, ``seed + 1``, … over all environments of all env runners; RLlib's own overlap.
    """
    before = (max(context.worker_index, 1) - 1) * context["envs_per_runner"]
    return TrainingEnv(make(context), context["seed"] + before + TALLY.next_environment(), TALLY.stepped)
