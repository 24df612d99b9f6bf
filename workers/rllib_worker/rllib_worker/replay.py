"""RLlib's replay buffer as plain tensors, and back."""

from collections import deque
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from mosaic_worker.rl.randomness import plain, unplain
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer


def seed(buffer: Any, number: int) -> None:
    """Let ``buffer`` draw the same batches again, which RLlib leaves to chance."""
    buffer.rng = np.random.default_rng(number)


def size(buffer: Any) -> int:
    """Bytes of its observations, actions and rewards."""
    return sum(rows.nbytes for episode in buffer.episodes for rows in _rows(episode).values())


def capture(buffer: Any, *, with_rows: bool) -> dict[str, Any]:
    """The generator and, where wanted, what the buffer holds."""
    return {
        "random": plain(buffer.rng.bit_generator.state),
        "rows": _captured(buffer) if with_rows and buffer.episodes else None,
    }


def restore(buffer: Any, saved: dict[str, Any]) -> None:
    """Put a captured state into an empty buffer.

    An episode that was under way begins anew, as RLlib's env runners do: its steps so far stay an episode of their own.
    """
    buffer.rng.bit_generator.state = unplain(saved["random"])
    rows = saved["rows"]
    if rows is None:
        return
    buffer.episodes = deque(_episodes(rows))
    buffer.set_state(
        {
            "episodes": [],
            "episode_id_to_index": [(episode.id_, index) for index, episode in enumerate(buffer.episodes)],
            "_num_episodes_evicted": 0,
            "_indices": [tuple(pair) for pair in rows["indices"].tolist()],
            "_num_timesteps": len(rows["indices"]),
            "_num_timesteps_added": rows["added"],
            "sampled_timesteps": rows["sampled"],
        }
    )


def _captured(buffer: Any) -> dict[str, Any]:
    parts = [_rows(episode) for episode in buffer.episodes]
    whole = {name: torch.from_numpy(np.concatenate([part[name] for part in parts])) for name in parts[0]}
    indices = np.array(buffer._indices)
    indices[:, 0] -= buffer._num_episodes_evicted
    return {
        **whole,
        "lengths": [len(episode) for episode in buffer.episodes],
        "ends": [[bool(episode.is_terminated), bool(episode.is_truncated)] for episode in buffer.episodes],
        "indices": torch.from_numpy(indices),
        "added": buffer._num_timesteps_added,
        "sampled": buffer.sampled_timesteps,
    }


def _rows(episode: SingleAgentEpisode) -> dict[str, np.ndarray]:
    found = (episode.get_observations(), episode.get_actions(), episode.get_rewards())
    return dict(zip(("observations", "actions", "rewards"), map(np.asarray, found), strict=True))


def _episodes(rows: dict[str, Any]) -> list[SingleAgentEpisode]:
    observations, actions, rewards = (rows[name].numpy() for name in ("observations", "actions", "rewards"))
    begins = [0, *accumulate(rows["lengths"])]
    return [
        SingleAgentEpisode(
            observations=InfiniteLookbackBuffer(observations[begin + number : begin + number + length + 1]),
            actions=InfiniteLookbackBuffer(actions[begin : begin + length]),
            rewards=InfiniteLookbackBuffer(rewards[begin : begin + length]),
            terminated=terminated,
            truncated=truncated,
            len_lookback_buffer=0,
        )
        # an episode has one observation more than it has steps
        for number, (begin, length, (terminated, truncated)) in enumerate(
            zip(begins[:-1], rows["lengths"], rows["ends"], strict=True)
        )
    ]
