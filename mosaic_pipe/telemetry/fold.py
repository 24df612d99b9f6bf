"""Folding the events of a run into what its manifest says. The same events give the same fold, live or afterwards."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from mosaic_pipe.telemetry import events as ev
from mosaic_pipe.telemetry.reader import Skipped

EPISODES_IN_MEAN = 100


class Summary(msgspec.Struct):
    """Totals of a run over its attempts; means are over its last 100 training episodes, times in seconds.

    ``sps`` and ``eval_episodes`` are those of the last attempt. ``updates``: of a run that learns from a dataset.
    """

    env_steps: int = 0
    updates: int | None = None
    episodes: int = 0
    episode_return_mean: float | None = None
    episode_length_mean: float | None = None
    sps: float | None = None
    wall_time: float = 0.0
    eval_episodes: int = 0
    eval: dict[str, Any] | None = None

    @property
    def progress(self) -> int:
        """Environment steps, or updates where a run learns from a dataset alone."""
        return self.env_steps if self.updates is None else self.updates

    @property
    def mean_return(self) -> float | None:
        """What a table says of the run: the mean return of training, or of an evaluation that was all there was."""
        evaluated = (self.eval or {}).get("return_mean")
        if self.episode_return_mean is None and isinstance(evaluated, int | float):
            return float(evaluated)
        return self.episode_return_mean


class Stage(msgspec.Struct):
    """A stage of a curriculum, or a phase of a script, that was entered."""

    index: int
    env_id: str
    env_steps: int
    reason: str | None
    name: str | None = None


class Telemetry(msgspec.Struct):
    """How much was reported, and how much of it could not be used; ``lost``: gaps in the numbering."""

    events: dict[str, int]
    lost: int
    skipped: Skipped
    warnings: list[str]


class _Trained(msgspec.Struct, frozen=True):
    """What had been trained at a checkpoint."""

    episodes: int = 0
    env_steps: int = 0
    returns: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    stages: tuple[Stage, ...] = ()


class Fold:
    """Feed it events in order; read ``summary`` and the rest at any time."""

    def __init__(self) -> None:
        self.ending: ev.RunCompleted | ev.RunCancelled | ev.RunFailed | None = None
        self.idle = 0.0
        self.stages: list[Stage] = []
        self.checkpoints: list[ev.Checkpoint] = []
        self.artifacts: list[ev.Artifact] = []
        self.warnings: list[str] = []
        self._summary = Summary()
        self._returns: deque[float] = deque(maxlen=EPISODES_IN_MEAN)
        self._lengths: deque[int] = deque(maxlen=EPISODES_IN_MEAN)
        self._counts: Counter[type[ev.Event]] = Counter()
        self._attempt, self._seq, self._lost = 0, 0, 0
        self._at_checkpoint: dict[int, _Trained] = {}
        self._wall_time_before = 0.0
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            ev.RunStarted: self._on_started,
            ev.Heartbeat: self._on_heartbeat,
            ev.Metrics: self._on_metrics,
            ev.Episode: self._on_episode,
            ev.EvalEpisode: self._on_eval_episode,
            ev.StageStarted: self._on_stage,
            ev.CheckpointSaved: self._on_checkpoint,
            ev.CheckpointLoaded: self._on_loaded,
            ev.EvalCompleted: self._on_eval,
            ev.ArtifactMade: self._on_artifact,
            ev.Warned: lambda event: self.warnings.append(event.payload.message),
            ev.RunCompleted: self._on_end,
            ev.RunCancelled: self._on_end,
            ev.RunFailed: self._on_end,
        }

    def feed(self, events: Iterable[ev.Event]) -> int:
        """Fold ``events`` in; returns how many there were."""
        fed = 0
        for event in events:
            kind = type(event)
            self._counts[kind] += 1
            if event.seq != self._seq + 1 or event.attempt != self._attempt:
                self._on_gap(event)
            self._seq = event.seq
            self._handlers[kind](event)
            fed += 1
        return fed

    def summary(self) -> Summary:
        """Totals so far."""
        summary = self._summary
        if self._returns:
            summary.episode_return_mean = sum(self._returns) / len(self._returns)
            summary.episode_length_mean = sum(self._lengths) / len(self._lengths)
        return summary

    def telemetry(self, skipped: Skipped) -> Telemetry:
        """Counts so far; ``skipped`` comes from the reader."""
        counts = {str(kind.__struct_config__.tag): count for kind, count in self._counts.items()}
        return Telemetry(dict(sorted(counts.items())), self._lost, skipped, self.warnings)

    def _on_gap(self, event: ev.Event) -> None:
        if event.attempt != self._attempt:
            self._attempt, self._seq = event.attempt, 0
        self._lost += max(0, event.seq - self._seq - 1)

    def begin_attempt(self) -> None:
        """Another process tries: it counts from nothing, until it says which checkpoint it goes on from."""
        self.ending, self.idle = None, 0.0
        self._wall_time_before = self._summary.wall_time
        self._summary.eval_episodes, self._summary.updates = 0, None
        self._go_back_to(_Trained())

    def _on_started(self, event: ev.RunStarted) -> None:
        self.begin_attempt()

    def _on_loaded(self, event: ev.CheckpointLoaded) -> None:
        if event.payload.env_steps in self._at_checkpoint:
            self._go_back_to(self._at_checkpoint[event.payload.env_steps])

    def _go_back_to(self, trained: _Trained) -> None:
        """What an earlier attempt did after its checkpoint is done again, and counts once."""
        self._summary.episodes, self._summary.env_steps = trained.episodes, trained.env_steps
        self._summary.episode_return_mean = self._summary.episode_length_mean = None
        self._returns, self._lengths = (
            deque(trained.returns, EPISODES_IN_MEAN),
            deque(trained.lengths, EPISODES_IN_MEAN),
        )
        self.stages = list(trained.stages)

    def _on_heartbeat(self, event: ev.Heartbeat) -> None:
        self.idle = event.payload.idle
        self._summary.env_steps, self._summary.updates = event.payload.env_steps, event.payload.updates

    def _on_metrics(self, event: ev.Metrics) -> None:
        self._totals(event.payload)

    def _on_episode(self, event: ev.Episode) -> None:
        self._on_played(event.payload)
        self._summary.episodes += 1
        self._returns.append(float(event.payload.episode_return))
        self._lengths.append(event.payload.episode_length)

    def _on_eval_episode(self, event: ev.EvalEpisode) -> None:
        self._on_played(event.payload)
        self._summary.eval_episodes += 1

    def _on_played(self, payload: ev.Played) -> None:
        self._summary.env_steps = payload.env_steps
        self._summary.wall_time = self._wall_time_before + payload.wall_time

    def _on_stage(self, event: ev.StageStarted) -> None:
        payload = event.payload
        if self.stages and payload.index == self.stages[-1].index:
            return  # a resumed attempt says where it is
        self.stages.append(Stage(payload.index, payload.env_id, payload.env_steps, payload.reason, payload.name))

    def _on_checkpoint(self, event: ev.CheckpointSaved) -> None:
        saved = event.payload
        self.checkpoints = [kept for kept in self.checkpoints if kept.path not in (saved.path, *saved.replaced)]
        self.checkpoints.append(ev.Checkpoint(saved.path, saved.env_steps, saved.size, saved.sha256, saved.updates))
        trained = _Trained(
            self._summary.episodes, saved.env_steps, tuple(self._returns), tuple(self._lengths), tuple(self.stages)
        )
        kept = {checkpoint.env_steps for checkpoint in self.checkpoints}
        self._at_checkpoint = {steps: old for steps, old in self._at_checkpoint.items() if steps in kept}
        self._at_checkpoint[saved.env_steps] = trained

    def _on_eval(self, event: ev.EvalCompleted) -> None:
        self._summary.eval = event.payload

    def _on_artifact(self, event: ev.ArtifactMade) -> None:
        made = event.payload  # each attempt says it anew
        self.artifacts = [kept for kept in self.artifacts if kept.path != made.path] + [made]

    def _on_end(self, event: ev.RunCompleted | ev.RunCancelled | ev.RunFailed) -> None:
        self.ending = event
        self._totals(event.payload)

    def _totals(self, payload: ev.Totals) -> None:
        summary = self._summary
        summary.env_steps, summary.sps, summary.updates = payload.env_steps, float(payload.sps), payload.updates
        summary.wall_time = self._wall_time_before + payload.wall_time
