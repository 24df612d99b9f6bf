"""Learning curves out of events: everything that is a number over steps, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec
from mosaic_worker.protocol import Event as Names

from mosaic_pipe.telemetry import events as ev
from mosaic_pipe.telemetry.fold import Stage
from mosaic_pipe.telemetry.series import Series

RETURN = "episode_return"
MAX_SERIES = 200
"""Metrics beyond these are left out."""

_NO_CURVES = ("env_steps", "updates", "wall_time", "truncated")


class AllMetrics(ev.Envelope, tag=Names.METRICS):
    """Metrics with the library's own."""

    payload: dict[str, Any]


Drawn = (
    ev.RunStarted
    | ev.Heartbeat
    | AllMetrics
    | ev.Episode
    | ev.EvalEpisode
    | ev.StageStarted
    | ev.CheckpointSaved
    | ev.CheckpointLoaded
    | ev.EvalCompleted
    | ev.ArtifactMade
    | ev.Warned
    | ev.RunCompleted
    | ev.RunCancelled
    | ev.RunFailed
)
decoder: msgspec.json.Decoder[Drawn] = msgspec.json.Decoder(Drawn)


class Curves:
    """Feed it a run's events in order; ``series`` by metric, ``stages`` and ``names`` of all metrics may be read then.

    Args:
        limit: buckets of a series.
        only: keep no other metric than this one.
    """

    def __init__(self, limit: int, only: str | None = None) -> None:
        self.series: dict[str, Series] = {}
        self.stages: list[Stage] = []
        self.names: set[str] = set()
        self._limit, self._only = limit, only
        self._starts_anew = False

    def feed(self, events: Iterable[Drawn]) -> int:
        """Take ``events`` in; returns how many there were."""
        fed = 0
        for event in events:
            fed += 1
            if isinstance(event, ev.Episode):
                self._played(event.payload, RETURN, "episode_length")
            elif isinstance(event, AllMetrics):
                self._metrics(event.payload)
            elif isinstance(event, ev.EvalEpisode):
                self._played(event.payload, f"eval/{RETURN}", "eval/episode_length")
            elif isinstance(event, ev.EvalCompleted):
                self._metrics(event.payload, "eval/")
            elif isinstance(event, ev.StageStarted):
                self._stage(event)
            elif isinstance(event, ev.RunStarted):
                self._starts_anew = True
            elif isinstance(event, ev.CheckpointLoaded):
                self._go_back_to(event.payload.env_steps)
        return fed

    def _played(self, played: ev.Played, name: str, length: str) -> None:
        self._add(name, played.env_steps, played.episode_return)
        self._add(length, played.env_steps, played.episode_length)
        for agent, value in (played.agent_returns or {}).items():
            self._add(f"{name}/{agent}", played.env_steps, value)

    def _metrics(self, payload: dict[str, Any], prefix: str = "") -> None:
        step = payload.get("updates")
        step = payload.get("env_steps") if step is None else step
        if not isinstance(step, int):
            return
        for name, value in payload.items():
            if name not in _NO_CURVES and isinstance(value, int | float) and not isinstance(value, bool):
                self._add(prefix + name, step, value)

    def _add(self, name: str, step: int, value: float | str) -> None:
        if self._starts_anew:
            self._go_back_to(-1)
        if name not in self.names:
            if len(self.names) >= MAX_SERIES:
                return
            self.names.add(name)
        number = float(value)
        if (self._only is None or name == self._only) and math.isfinite(number):
            series = self.series.get(name)
            if series is None:
                series = self.series[name] = Series(self._limit)
            series.add(step, number)

    def _stage(self, event: ev.StageStarted) -> None:
        said = event.payload
        if self._starts_anew:
            self._go_back_to(-1)
        if not (self.stages and self.stages[-1].index == said.index):
            self.stages.append(Stage(said.index, said.env_id, said.env_steps, said.reason, said.name))

    def _go_back_to(self, step: int) -> None:
        """What an earlier attempt did after ``step`` is done again."""
        self._starts_anew = False
        for series in self.series.values():
            series.cut(step)
        self.stages = [stage for stage in self.stages if stage.env_steps <= step]
