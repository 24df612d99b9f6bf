"""Training environments, as Gymnasium makes them."""

import gymnasium
from mosaic_worker.rl import making
from mosaic_worker.rl.training_env import TrainingEnv
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec
from tianshou.env import DummyVectorEnv


def make(spec: Spec) -> gymnasium.Env:
    """The environment of ``spec``, as Gymnasium makes it."""
    return making.make(spec.env.id, spec.env.kwargs)


def make_training(spec: Spec, count: int, session: Session) -> tuple[DummyVectorEnv, list[TrainingEnv]]:
    """Tianshou's vector of ``count`` environments with the seeds ``seed``, ``seed + 1``, …, and these themselves."""
    envs = [TrainingEnv(make(spec), spec.seed + index, session) for index in range(count)]
    return DummyVectorEnv([lambda env=env: env for env in envs]), envs
