"""Environments as XuanCe wants them, around environments that are watched."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from mosaic_worker.rl import making, tuple_team
from mosaic_worker.rl.team import TeamEnv
from mosaic_worker.rl.team import make as make_team
from mosaic_worker.rl.training_env import TrainingEnv
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec
from xuance.environment import (
    DummyVecEnv,
    DummyVecEnv_Atari,
    RawEnvironment,
    XuanCeAtariEnvWrapper,
    XuanCeEnvWrapper,
)

from xuance_worker import team


class Scaling:
    """From the actions of XuanCe's networks, which end in a tanh, to an environment's bounded ones, and no further."""

    def __init__(self, space: gymnasium.Space) -> None:
        self._bounds: tuple[Any, Any] | None = None
        self.space = space
        """The space that XuanCe sees."""
        if isinstance(space, Box) and space.is_bounded():
            self._bounds = space.low, space.high
            self.space = Box(-1.0, 1.0, space.shape, np.float32)

    def __call__(self, action: Any) -> Any:
        """The environment's action."""
        if self._bounds is None:
            return action
        low, high = self._bounds
        return (low + (np.clip(action, -1.0, 1.0) + 1.0) * 0.5 * (high - low)).astype(low.dtype)


class Single(RawEnvironment):
    """A Gymnasium environment with the face that XuanCe knows."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__()
        self.env, self._scaling = env, Scaling(env.action_space)
        self.observation_space, self.action_space = env.observation_space, self._scaling.space
        self.max_episode_steps = (env.spec and env.spec.max_episode_steps) or tuple_team.ENDLESS
        self.metadata, self.render_mode = env.metadata, env.render_mode

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Take a step with an action of XuanCe's."""
        return self.env.step(self._scaling(action))

    def render(self, *_: Any) -> Any:
        """The environment's picture."""
        return self.env.render()

    def close(self) -> None:
        """Let go of the environment."""
        self.env.close()


class Game(Single):
    """An Atari game: to XuanCe a lost life ends an episode, the end of the game truncates it, and rewards are signs."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self._lives = 0
        self.was_real_done = True
        self._episode_step, self._episode_score = 0, 0.0

    def reset(self, **options: Any) -> Any:
        """Begin a game, or go on with it after a lost life."""
        if self.was_real_done or getattr(self.env, "restoring", False):
            self._episode_step, self._episode_score = 0, 0.0
            found = super().reset(**options)
        else:
            observation, _, _, _, info = self.env.step(0)
            found = observation, info
        self.was_real_done, self._lives = False, self._lives_left()
        return found

    def step(self, action: Any) -> Any:
        """Take a step."""
        observation, reward, terminated, truncated, info = self.env.step(int(action))
        self._episode_step, self._episode_score = self._episode_step + 1, self._episode_score + float(reward)
        over, lost = terminated or truncated, self._lives_left() < self._lives
        self.was_real_done, self._lives = over, self._lives_left()
        return observation, np.sign(reward), over or lost, over, info

    def _lives_left(self) -> int:
        lives: int = self.env.unwrapped.ale.lives()
        return lives


class Vector(DummyVecEnv):
    """XuanCe's vector; ``train`` begins with its observations in hand, which must stay as they are while it steps."""

    buf_obs: Any

    def step_wait(self) -> Any:
        """Take the step."""
        self.buf_obs = self.buf_obs.copy()
        return super().step_wait()


class GameVector(Vector, DummyVecEnv_Atari):
    """The same, of games."""


def make(spec: Spec) -> gymnasium.Env:
    """The environment of ``spec``, for one agent or several."""
    if spec.env.family == "mpe":
        return make_team(spec.env.id, spec.env.kwargs)
    if spec.env.family in tuple_team.FAMILIES:
        return tuple_team.make(spec.env.family, spec.env.id, spec.env.kwargs)
    if spec.env.family == "atari":
        return _game(spec)
    return making.make(spec.env.id, spec.env.kwargs)


def vector_of(envs: list[Any]) -> Any:
    """XuanCe's vector of ``envs``."""
    if isinstance(envs[0].unwrapped, TeamEnv):
        return team.vector_of(envs)
    if hasattr(envs[0].unwrapped, "ale"):
        return GameVector([lambda env_seed, env=env: XuanCeAtariEnvWrapper(Game(env)) for env in envs], 0)
    return Vector([lambda env_seed, env=env: XuanCeEnvWrapper(Single(env)) for env in envs], 0)


def make_training(spec: Spec, count: int, session: Session) -> list[TrainingEnv]:
    """``count`` environments with the seeds ``seed``, ``seed + 1``, …."""
    return [TrainingEnv(make(spec), spec.seed + index, session) for index in range(count)]


def _game(spec: Spec) -> gymnasium.Env:
    """A game as XuanCe's own wrapper shows it: every fourth frame, gray, 84 by 84, the last four of them."""
    import ale_py  # the extra atari

    gymnasium.register_envs(ale_py)
    env = gymnasium.make(spec.env.id, **{"render_mode": "rgb_array", "frameskip": 1, **spec.env.kwargs})
    env = gymnasium.wrappers.AtariPreprocessing(env, noop_max=30, frame_skip=4, screen_size=84)
    env = gymnasium.wrappers.FrameStackObservation(env, 4)
    shape = (84, 84, 4)
    space = Box(0, 255, shape, np.uint8)
    return gymnasium.wrappers.TransformObservation(env, lambda frames: np.moveaxis(np.asarray(frames), 0, -1), space)
