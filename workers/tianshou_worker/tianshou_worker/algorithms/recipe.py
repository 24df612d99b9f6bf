"""What an algorithm is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear, OptimizerFactory

from tianshou_worker.config import Pace
from tianshou_worker.native import Settings


@dataclass(frozen=True)
class Recipe:
    """How to make an algorithm, and how it is trained."""

    build: Callable[[Settings, Any, Pace], Any]
    """The algorithm from settings, one environment and the pace."""
    parts: tuple[type, ...]
    """Classes whose constructors take ``algo.native``."""
    on_policy: bool
    hidden_sizes: tuple[int, ...]
    random_start: bool = False
    """Whether actions before ``learning_starts`` are uniformly random, instead of the policy's."""
    buffer: type | None = None
    """The replay buffer's class; None: the plain one."""
    buffer_settings: dict[str, float] = field(default_factory=dict)
    """Arguments of it, which ``algo.native`` may set otherwise."""


def adam(settings: Settings, name: str = "lr", schedule: Pace | None = None) -> OptimizerFactory:
    """Adam with the setting ``name`` as learning rate; with a ``schedule``, it falls linearly to 0 over the run."""
    factory = AdamOptimizerFactory(lr=settings.values[name]) if name in settings.values else AdamOptimizerFactory()
    if schedule:
        factory.with_lr_scheduler_factory(LRSchedulerFactoryLinear(1, schedule.total, schedule.collected))
    return factory
