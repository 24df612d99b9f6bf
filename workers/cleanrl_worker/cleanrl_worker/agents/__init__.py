"""Networks of our own, with the interface of the ``Agent`` in CleanRL's ``ppo.py``."""

from collections.abc import Callable
from typing import Any


def agent_class(network: str, observation_shape: tuple[int, ...]) -> "Callable[..., Any] | None":
    """The class that stands in for the script's ``Agent``; None: the script's own.

    Args:
        network: ``algo.network``: ``auto``, ``library``, ``minigrid_cnn`` or ``mlp``.
        observation_shape: of one observation, as the environment gives it before it is flattened.

    Raises:
        UserError: the network does not fit the observation.
    """
    from mosaic_worker.errors import UserError

    from cleanrl_worker.agents.minigrid import IMAGE_SHAPE, MinigridAgent
    from cleanrl_worker.agents.mlp import MLPAgent

    if network == "minigrid_cnn" and observation_shape != IMAGE_SHAPE:
        raise UserError(f"algo.network=minigrid_cnn: made for images {IMAGE_SHAPE}, these are {observation_shape}")
    if network == "minigrid_cnn" or (network == "auto" and observation_shape == IMAGE_SHAPE):
        return MinigridAgent
    return MLPAgent if network == "mlp" else None
