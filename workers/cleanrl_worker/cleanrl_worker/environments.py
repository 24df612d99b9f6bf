"""Environments as the scripts get them: watched, shaped, and by stages where there is a curriculum."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from mosaic_worker.fastlane.filming import unfilmed
from mosaic_worker.rl.making import render_without_a_screen
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec

from cleanrl_worker import batched, gym_api, journal, repairs
from cleanrl_worker.agents import agent_class
from cleanrl_worker.monitor import Counter, Monitor

if TYPE_CHECKING:
    from cleanrl_worker.curriculum import Curriculum


class FlatImage(gymnasium.ObservationWrapper):
    """MiniGrid's image as a flat vector of float32."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        low, high = (
            np.asarray(b, dtype=np.float32).ravel() for b in (env.observation_space.low, env.observation_space.high)
        )
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """The image, shape ``(height * width * 3,)``."""
        flat: np.ndarray = observation.astype(np.float32).ravel()
        return flat


class ImageOnly(gymnasium.ObservationWrapper):
    """MiniGrid's dictionary of image, direction and mission as its image alone."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = env.observation_space["image"]

    def observation(self, observation: dict[str, Any]) -> Any:
        """The image, shape ``(height, width, 3)``."""
        return observation["image"]


_REGISTERED_BY = {"minigrid": "minigrid", "babyai": "minigrid", "atari": "ale_py"}
"""Packages that register a family's environments when they are imported."""


@dataclass
class Environments:
    """What was made for a script, as it is made."""

    counter: Counter
    agent: Callable[..., Any] | None = None
    """Stands in for the script's ``Agent``; None: its own."""
    curriculum: "Curriculum | None" = None
    vectors: list[Any] = field(default_factory=list)
    """The vector environments that the script trains on."""


def install(session: Session, spec: Spec) -> Environments:
    """Patch ``make`` and the vector environments of Gymnasium, and put gym's API over them.

    Raises:
        UserError: the stages of the curriculum do not fit together, or the network does not fit.
    """
    made = Environments(Counter(session))
    repairs.install()
    batched.install(made.counter)
    if spec.env.family in batched.REAL_GYM:
        return made
    if spec.env.family in _REGISTERED_BY:
        importlib.import_module(_REGISTERED_BY[spec.env.family])
    if spec.tracking.capture_video or spec.eval.video:
        render_without_a_screen()
    original = unfilmed(gymnasium.make)  # the monitor has the camera, and stays when a stage's environment goes

    def shaped(id: str, **given: Any) -> gymnasium.Env:
        # rgb_array is what videos need, and costs nothing until something renders
        env = original(id, **{"render_mode": "rgb_array", **spec.env.kwargs, **given})
        if not _has_image(env):
            return env
        image = ImageOnly(env)
        return image if made.agent else FlatImage(image)

    if spec.algo.name == "ppo" and (network := getattr(spec.algo, "network", "auto")) != "library":
        made.agent = _agent(network, original(spec.env.id, **spec.env.kwargs))
    if spec.curriculum.stages:
        from cleanrl_worker.curriculum import Curriculum, StagedEnv, check_spaces

        curriculum = made.curriculum = Curriculum(spec.curriculum.stages, session)
        check_spaces(curriculum, len(spec.curriculum.stages), shaped)

    def make(id: str, **given: Any) -> gymnasium.Env:
        if made.curriculum is None:
            return Monitor(shaped(id, **given))
        return Monitor(StagedEnv(made.curriculum, lambda env_id: shaped(env_id, **given)))

    gymnasium.make = make
    gymnasium.vector.SyncVectorEnv = journal.journaled(gymnasium.vector.SyncVectorEnv, made.counter, made.vectors)
    gym_api.install(make)
    return made


def _agent(network: str, env: gymnasium.Env) -> Callable[..., Any] | None:
    space = env.observation_space["image"] if _has_image(env) else env.observation_space
    env.close()
    return agent_class(network, tuple(space.shape))


def _has_image(env: gymnasium.Env) -> bool:
    space = env.observation_space
    return isinstance(space, gymnasium.spaces.Dict) and "image" in space.spaces
