"""A recorded dataset as Tianshou's replay buffer."""

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from mosaic_worker.errors import UserError
from mosaic_worker.rl.dataset_arrays import describe_spaces, load
from mosaic_worker.spec import Spec
from tianshou.data import Batch, ReplayBuffer


def replay_buffer(spec: Spec, env: Any) -> ReplayBuffer:
    """The dataset of ``spec``, which must be one of ``env``, to be drawn from by its seed.

    Actions are as Tianshou's networks see them: arrays of numbers from -1 to 1.

    Raises:
        UserError: it is of other spaces, not whole, not what the spec names, or its actions have no bounds.
    """
    arrays = load(Path(spec.dataset.path), describe_spaces(env), spec.dataset.sha256)
    steps = len(arrays["rewards"])
    buffer = ReplayBuffer(steps, random_seed=spec.seed)
    batch = Batch(
        obs=arrays["observations"],
        act=_scaled(arrays["actions"], env.action_space),
        rew=arrays["rewards"],
        terminated=arrays["terminations"],
        truncated=arrays["truncations"],
        done=arrays["terminations"] | arrays["truncations"],
        obs_next=arrays["next_observations"],
    )
    buffer.set_batch(batch)
    buffer._size, buffer.last_index[0] = steps, steps - 1  # as if each had been added
    return buffer


def _scaled(actions: np.ndarray, space: Any) -> np.ndarray:
    if not isinstance(space, Box):
        return actions
    if not space.is_bounded() or (space.low == space.high).any():
        raise UserError(f"env: Tianshou scales actions to their bounds, and {space} has none")
    return ((actions - space.low) * 2.0 / (space.high - space.low) - 1.0).astype(actions.dtype)
