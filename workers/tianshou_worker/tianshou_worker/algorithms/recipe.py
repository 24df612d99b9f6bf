"""What an algorithm is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear, OptimizerFactory

from tianshou_worker.config import Pace
from tianshou_worker.native import Settings

Build = Callable[[Settings, Any, Pace], Any]
"""Makes an algorithm from settings, one environment and the pace."""


@dataclass(frozen=True)
class Recipe:
    """How to make an algorithm, and how it is trained."""

    build: Build
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
    offline: bool = False
    """Whether it learns from a dataset alone."""
    fixed: tuple[str, ...] = ()
    """Arguments of constructors that are not the user's to set."""
    own: dict[str, float] = field(default_factory=dict)
    """What ``algo.native`` may set beside arguments of constructors."""


def adam(settings: Settings, name: str = "lr", schedule: Pace | None = None) -> OptimizerFactory:
    """Adam with the setting ``name`` as learning rate; with a ``schedule``, it falls linearly to 0 over the run."""
    factory = AdamOptimizerFactory(lr=settings.values[name]) if name in settings.values else AdamOptimizerFactory()
    if schedule:
        factory.with_lr_scheduler_factory(LRSchedulerFactoryLinear(1, schedule.total, schedule.collected))
    return factory
