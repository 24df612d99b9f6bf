"""Curricula: environments one after the other, by Syllabus's SequentialCurriculum.

The training loop knows nothing of it: an environment that is reset begins its next episode in the stage that holds.
Syllabus counts finished episodes and decides; its curriculum lives in this process and is asked directly, so that the
same seed gives the same switches, and its counters go into the checkpoint.
"""

import re
from collections import deque
from dataclasses import dataclass
from typing import Any

import gymnasium
from mosaic_worker.errors import UserError
from mosaic_worker.session import Session
from mosaic_worker.spec import Spec
from syllabus.core import ReinitTaskWrapper
from syllabus.curricula import SequentialCurriculum
from syllabus.task_space import DiscreteTaskSpace

_COUNTERS = ("n_steps", "total_steps", "n_episodes", "total_episodes")


class Curriculum:
    """The stages of one run, and which of them holds."""

    def __init__(self, stages: list[Spec], session: Session) -> None:
        self._env_ids = [stage.env_id for stage in stages]
        self._conditions = [stage.until for stage in stages[:-1]]
        self._session = session
        self._resumed = False
        numbers = list(range(len(stages)))
        self._syllabus = SequentialCurriculum(numbers, self._conditions, DiscreteTaskSpace(len(stages), numbers))

    @property
    def stage(self) -> int:
        """Index of the stage that holds."""
        return int(self._syllabus._curriculum_index)

    def env_id(self, stage: int) -> str:
        """The environment of a stage."""
        return str(self._env_ids[stage])

    def begin(self) -> None:
        """Report the stage that training begins in."""
        reason = "resumed" if self._resumed else None
        self._session.stage_started(self.stage, self.env_id(self.stage), reason=reason)

    def episode(self, episode_return: float, episode_length: int, stage: int) -> None:
        """An episode of ``stage`` ended; the next stage may begin."""
        before, counted = self.stage, _Counted.of(self._syllabus, episode_return, episode_length)
        self._syllabus.update_on_episode(episode_return, episode_length, stage, 1.0)
        if self.stage != before:
            reason = counted.reason(self._conditions[before])
            self._session.stage_started(self.stage, self.env_id(self.stage), reason=reason)

    def capture(self) -> dict[str, Any]:
        """Everything that :meth:`restore` needs, in plain terms."""
        returns = [float(value) for value in self._syllabus.episode_returns]
        counters = {name: int(getattr(self._syllabus, name)) for name in _COUNTERS}
        return {"stage": self.stage, "returns": returns, "window": self._syllabus.episode_returns.maxlen, **counters}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on where a checkpoint was taken.

        Raises:
            UserError: it was in a stage that this curriculum lacks.
        """
        if saved["stage"] >= len(self._env_ids):
            raise UserError(f"curriculum.stages: the checkpoint is in stage {saved['stage']}, counted from 0")
        self._resumed = True
        self._syllabus._curriculum_index = saved["stage"]
        self._syllabus.episode_returns = deque(saved["returns"], maxlen=saved["window"])
        for name in _COUNTERS:
            setattr(self._syllabus, name, saved[name])


class StagedEnv(ReinitTaskWrapper):
    """One environment that becomes another: ``change_task(stage)`` makes that stage's, and keeps it."""

    def __init__(self, curriculum: Curriculum, make: Any) -> None:
        first = make(curriculum.env_id(curriculum.stage))
        super().__init__(first, lambda stage: make(curriculum.env_id(stage)))
        self.task, self.task_envs = curriculum.stage, {curriculum.stage: first}
        self.curriculum = curriculum

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; Syllabus would take the seed for a task."""
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """A step of the stage's environment."""
        return self.env.step(action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)  # Syllabus's own refuses values that are false


def check_spaces(curriculum: Curriculum, stages: int, make: Any) -> None:
    """Make every stage's environment once: a network cannot change its shape while it trains.

    Raises:
        UserError: a stage cannot be made, or its spaces differ from the first one's.
    """
    first: gymnasium.Env | None = None
    for stage in range(stages):
        env = make(curriculum.env_id(stage))
        first = first or env
        for kind in ("observation_space", "action_space"):
            ours, theirs = getattr(env, kind), getattr(first, kind)
            if ours != theirs:
                where = f"curriculum.stages.{stage}: {curriculum.env_id(stage)}"
                raise UserError(f"{where} has the {kind} {ours}, and the first stage {theirs}: no network fits both")


@dataclass(frozen=True)
class _Counted:
    """What the conditions of a stage look at, at the end of an episode."""

    steps: float
    episodes: float
    episode_return: float
    total_steps: float
    total_episodes: float

    @classmethod
    def of(cls, syllabus: Any, episode_return: float, episode_length: int) -> "_Counted":
        returns = deque(syllabus.episode_returns, maxlen=syllabus.episode_returns.maxlen)
        returns.append(episode_return)
        mean = sum(returns) / len(returns)
        steps, episodes = syllabus.n_steps + episode_length, syllabus.n_episodes + 1
        return cls(steps, episodes, mean, syllabus.total_steps + episode_length, syllabus.total_episodes + 1)

    def reason(self, condition: str) -> str:
        """The alternative of ``condition`` that holds, with the numbers that made it."""
        alternatives = condition.split("|")
        fired = next((one for one in alternatives if all(map(self._holds, one.split("&")))), condition)
        names = dict.fromkeys(re.findall(r"[a-z_]+", fired))
        return f"{fired} ({', '.join(f'{name} {getattr(self, name):g}' for name in names)})"

    def _holds(self, clause: str) -> bool:
        name, operator, value = re.split("(>=|<=|>|<|=)", clause)
        ours, theirs = getattr(self, name), float(value)
        return {">=": ours >= theirs, "<=": ours <= theirs, ">": ours > theirs, "<": ours < theirs}.get(
            operator, ours == theirs
        )
