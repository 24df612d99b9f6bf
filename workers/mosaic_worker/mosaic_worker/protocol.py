"""The contract between mosaic_pipe and a worker process: names and numbers that both sides import from here."""

from enum import IntEnum

SPEC_VERSION = 1
"""``schema_version`` of the ``spec.json`` that this kit reads."""

MAX_LINE = 65536
"""Bytes of one event line, newline included. A longer payload is cut and marked."""

ENV_ATTEMPT = "MOSAIC_ATTEMPT"
"""Environment variable: number of this attempt of the run, from 1."""

ENV_TOKEN = "MOSAIC_RUN_TOKEN"  # noqa: S105 - the variable's name; the token marks processes and guards nothing
"""Environment variable: marks every process of one attempt, also those that left its process group."""

ENV_SCRATCH = "MOSAIC_SCRATCH"
"""Environment variable: a directory with a short path, empty at first, that is removed when the attempt is over."""

ENV_FASTLANE = "MOSAIC_FASTLANE"
"""Environment variable: path of the segment for live frames; not set: the run shows none."""


class ExitCode(IntEnum):
    """How a worker process ends. Anything else, or a signal, is a crash."""

    COMPLETED = 0
    FAILED = 1
    USER_ERROR = 2
    DISK_FULL = 74
    STOPPED = 75


class Event:
    """Names of the events; docs/events.md says what each payload holds."""

    RUN_STARTED = "run_started"
    HEARTBEAT = "heartbeat"
    METRICS = "metrics"
    EPISODE = "episode"
    EVAL_EPISODE = "eval_episode"
    STAGE_STARTED = "stage_started"
    CHECKPOINT_SAVED = "checkpoint_saved"
    CHECKPOINT_LOADED = "checkpoint_loaded"
    EVAL_COMPLETED = "eval_completed"
    ARTIFACT = "artifact"
    WARNING = "warning"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"


class Failure:
    """Classes of failure; docs/lifecycle.md says which are tried again."""

    USER_ERROR = "user_error"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    KILLED = "killed"
    TIMEOUT = "timeout"
    PREEMPTED = "preempted"
    NODE_FAILURE = "node_failure"
    WORKER_LOST = "worker_lost"
