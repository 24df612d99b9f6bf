"""Recurrent networks: XuanCe trains them on whole episodes, and counts those where it otherwise counts steps."""

from typing import Any

from mosaic_worker.errors import UserError
from tqdm import tqdm

from xuance_worker.config import XuanCeConfig

tqdm.last_print_n = 0  # XuanCe reads it where networks are recurrent, and a bar that is switched off lacks it


def in_episodes(config: XuanCeConfig, length: int) -> dict[str, Any]:
    """Settings that count episodes of at most ``length`` steps: as many as fill the steps that the spec asks for.

    Raises:
        UserError: XuanCe cannot wait that long between two updates, or has too few episodes for the minibatches.
    """
    settings, pace = config.settings, config.pace
    played = pace.num_envs * length
    if config.algorithm.on_policy:
        size = pace.num_envs * max(1, pace.train_interval // played)
        if size < settings["n_minibatch"]:
            raise UserError(f"algo.minibatches: {settings['n_minibatch']} of {size} episodes")
        return {"representation": "Basic_RNN", "buffer_size": size}
    if pace.train_interval > played:
        raise UserError(
            f"algo.train_interval: with recurrent networks XuanCe plays an episode in each environment between two "
            f"updates, {played} steps at most, and not {pace.train_interval}"
        )
    return {
        "representation": "Basic_RNN",
        "buffer_size": max(1, settings["buffer_size"] // played) * pace.num_envs,
        "batch_size": max(1, settings["batch_size"] // length),
        "n_epochs": played // pace.train_interval,
    }
