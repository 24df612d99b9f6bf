"""The schema of events: what a reader needs of each line of ``events.jsonl``.

Payloads carry the canonical names checked here beside the library's own, which readers of metrics take from the
line. Numbers that JSON lacks arrive as text: ``"NaN"``, ``"Infinity"``, ``"-Infinity"``; ``float()`` reads them.
"""

from __future__ import annotations

from typing import Any, Literal

from mosaic_worker.protocol import Event as Names
from msgspec import Struct

Number = float | Literal["NaN", "Infinity", "-Infinity"]


class Envelope(Struct, tag_field="event", gc=False):
    """What every event has; ``time`` in epoch seconds, ``seq`` from 1 within an attempt."""

    run_id: str
    attempt: int
    seq: int
    time: float


class _Started(Struct):
    pid: int
    python: str


class RunStarted(Envelope, tag=Names.RUN_STARTED):
    """The worker process is up; its library is not imported yet."""

    payload: _Started


class _Heartbeat(Struct, gc=False):
    env_steps: int
    idle: float
    updates: int | None = None


class Heartbeat(Envelope, tag=Names.HEARTBEAT):
    """``idle``: seconds since the training loop last showed life."""

    payload: _Heartbeat


class Totals(Struct, gc=False, kw_only=True):
    """Canonical totals so far: environment steps, seconds, environment steps a second.

    ``updates``: of a run that learns from a dataset, and takes no environment steps.
    """

    env_steps: int
    wall_time: float
    sps: Number
    updates: int | None = None


class Metrics(Envelope, tag=Names.METRICS):
    """Canonical totals, and the library's own metrics by its own names."""

    payload: Totals


class Played(Struct, gc=False):
    """An episode: undiscounted raw return, length in steps of its environment, steps and seconds until its end."""

    env_steps: int
    episode_return: Number
    episode_length: int
    wall_time: float
    agent_returns: dict[str, Number] | None = None


class Episode(Envelope, tag=Names.EPISODE):
    """A training episode ended: undiscounted raw return, length in steps of its environment.

    Where several agents act: ``agent_returns`` by name, and ``episode_return`` is their sum.
    """

    payload: Played


class EvalEpisode(Envelope, tag=Names.EVAL_EPISODE):
    """An episode of an evaluation ended; never one of training."""

    payload: Played


class _Stage(Struct):
    index: int
    env_id: str
    env_steps: int
    reason: str | None = None
    name: str | None = None


class StageStarted(Envelope, tag=Names.STAGE_STARTED):
    """A stage of the curriculum or a phase of a script began; ``reason``: the condition that ended the one before."""

    payload: _Stage


class Checkpoint(Struct):
    """A checkpoint: path below the run directory, bytes, sha256 in hex; ``updates`` as in :class:`Totals`."""

    path: str
    env_steps: int
    size: int
    sha256: str
    updates: int | None = None


class _Saved(Checkpoint):
    replaced: list[str] = []


class CheckpointSaved(Envelope, tag=Names.CHECKPOINT_SAVED):
    """A checkpoint was written, whole; ``replaced``: paths of older ones that were deleted for it."""

    payload: _Saved


class _Loaded(Struct):
    path: str
    env_steps: int


class CheckpointLoaded(Envelope, tag=Names.CHECKPOINT_LOADED):
    """Training goes on from a checkpoint."""

    payload: _Loaded


class EvalCompleted(Envelope, tag=Names.EVAL_COMPLETED):
    """An evaluation ended."""

    payload: dict[str, Any]


class Artifact(Struct):
    """A file or directory of interest; path below the run directory, and where it is on the web."""

    kind: str
    path: str
    url: str | None = None


class ArtifactMade(Envelope, tag=Names.ARTIFACT):
    """The worker points at something that it wrote."""

    payload: Artifact


class _Warning(Struct):
    message: str


class Warned(Envelope, tag=Names.WARNING):
    """Something that the user should know, and that does not end the run."""

    payload: _Warning


class RunCompleted(Envelope, tag=Names.RUN_COMPLETED):
    """The budget is used up."""

    payload: Totals


class RunCancelled(Envelope, tag=Names.RUN_CANCELLED):
    """The worker stopped because it was asked to."""

    payload: Totals


class _Failed(Totals, kw_only=True, rename={"class_": "class"}):
    class_: str
    reason: str


class RunFailed(Envelope, tag=Names.RUN_FAILED):
    """The worker could not go on."""

    payload: _Failed


Event = (
    RunStarted
    | Heartbeat
    | Metrics
    | Episode
    | EvalEpisode
    | StageStarted
    | CheckpointSaved
    | CheckpointLoaded
    | EvalCompleted
    | ArtifactMade
    | Warned
    | RunCompleted
    | RunCancelled
    | RunFailed
)
