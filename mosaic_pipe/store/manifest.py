"""The manifest: what happened in a run, one versioned schema for every worker."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.states import State
from mosaic_pipe.telemetry.events import Artifact, Checkpoint
from mosaic_pipe.telemetry.fold import Stage, Summary, Telemetry

SCHEMA_VERSION = 1


class FailureReport(Struct):
    """Why a run did not complete; ``log_tail`` holds the last lines of the worker's log."""

    class_: str = msgspec.field(name="class")
    reason: str
    log_tail: list[str]


class Attempt(Struct):
    """One process that tried. Times in epoch seconds; ``pid`` is the supervisor's, ``worker_pid`` the worker's.

    ``pid_mark`` tells the supervisor from a later process with its number. ``resumed_at``: environment steps of the
    checkpoint that it went on from. ``failure``: class, where it failed.
    """

    number: int
    host: str
    pid: int
    pid_started: float
    pid_mark: str
    started: float
    worker_pid: int | None = None
    ended: float | None = None
    exit_code: int | None = None
    signal: str | None = None
    cpu_seconds: float | None = None
    peak_rss_mb: float | None = None
    slurm: dict[str, str] | None = None
    resumed_at: int | None = None
    state: State | None = None
    failure: str | None = None


class Tracking(Struct):
    """Where the library's own logging went: below the run directory, and on the web."""

    tensorboard: str | None = None
    wandb: str | None = None
    wandb_url: str | None = None


class Provenance(Struct):
    """What is needed to tell what ran: versions, code, machine. ``packages``: a file below the run directory."""

    argv: list[str]
    cwd: str
    created: float
    user: str
    versions: dict[str, str]
    environment: str
    packages: str
    git: dict[str, Any] | None = None


class Manifest(Struct, kw_only=True):
    """``manifest.json``."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    spec_hash: str
    state: State
    failure: FailureReport | None = None
    spec: RunSpec
    sweep: str | None
    attempts: list[Attempt] = []
    stages: list[Stage] = []
    summary: Summary
    checkpoints: list[Checkpoint] = []
    artifacts: list[Artifact] = []
    tracking: Tracking
    resources: dict[str, float | None] = {}
    provenance: Provenance
    telemetry: Telemetry | None = None
