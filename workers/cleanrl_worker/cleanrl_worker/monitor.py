"""What goes on in one environment, seen from just outside it."""

from collections.abc import Callable
from typing import Any

from mosaic_worker.rl import monitor
from mosaic_worker.rl.monitor import set_random
from mosaic_worker.session import Session

from cleanrl_worker import state


class Counter:
    """Counts the steps and episodes of training; what a script plays before or after it is only a sign of life."""

    steps: Callable[..., None]
    """``count`` environment steps (1) were taken."""
    episode: Callable[[float, int], None]
    """An episode ended: its return and length."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.end_training()

    def begin_training(self) -> None:
        """From now on steps and episodes count."""
        self.steps, self.episode = self._session.tick, self._session.episode

    def end_training(self) -> None:
        """From now on they do not."""
        self.steps, self.episode = self._show_life, lambda *_: None

    def _show_life(self, count: int = 1) -> None:
        self._session.alive()
        self._session.tick(0)  # it may be asked to stop


class Monitor(monitor.Monitor):
    """The kit's, which resets may also be forced upon and stages be changed in."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.resets = 0
        self.finished_stage: int | None = None
        self.staged = _staged(env)
        self.tell: Callable[[Monitor], None] = lambda monitor: None
        """Called when an episode has ended."""
        self._forced: tuple[int | None, dict[str, Any] | None, int | None] | None = None

    @property
    def stage(self) -> int | None:
        """The stage of the curriculum that the environment is in; None without one."""
        return None if self.staged is None else int(self.staged.task)

    def force_next_reset(self, seed: int | None, random: dict[str, Any] | None, stage: int | None) -> None:
        """Let the next reset be one that was seen before: its seed, stage, and the random numbers before it."""
        self._forced = (seed, random, stage)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode."""
        if self._forced is not None:
            seed, random, stage = self._forced
            self._forced = None
            if self.staged is not None:
                self.staged.change_task(stage)
            if random is not None:
                set_random(self.env, random)
        elif self.staged is not None and self.staged.task != self.staged.curriculum.stage:
            # a stage's environment is new: its random numbers follow from the run's seed all the same
            seed = int(self.env.unwrapped.np_random.integers(2**31))
            self.staged.change_task(self.staged.curriculum.stage)
        self.resets += 1
        result: tuple[Any, dict[str, Any]] = super().reset(seed=seed, options=options)
        return result

    def _finish(self) -> None:
        super()._finish()
        self.finished_stage = self.stage  # the next reset may change it
        self.tell(self)


def freeze_statistics(env: Any, saved: list[Any]) -> None:
    """Set running statistics around ``env`` to ``saved`` ones, and let them change no more."""
    found = statistics_of(env)
    for said, statistics in zip(saved, found, strict=False):
        state.decode(said, statistics)
    for statistics in found:
        if hasattr(statistics, "update"):
            statistics.update = lambda *_: None


def statistics_of(env: Any) -> list[Any]:
    """The running statistics of normalising wrappers around an environment."""
    found = []
    while not isinstance(env, Monitor):
        found += [vars(env)[name] for name in ("obs_rms", "return_rms", "returns") if name in vars(env)]
        env = env.env
    return found


def _staged(env: Any) -> Any:
    """The wrapper that changes stages, where there is a curriculum."""
    while env is not env.unwrapped:
        if hasattr(type(env), "change_task"):
            return env
        env = env.env
    return None
