"""From how a worker process ended to what became of the run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mosaic_worker.protocol import ExitCode, Failure

from mosaic_pipe.store.states import State
from mosaic_pipe.supervise.process import Exit
from mosaic_pipe.telemetry import events as ev


class StopReason(Enum):
    """Why the supervisor stopped a worker."""

    CANCEL = "cancel"
    PREEMPT = "preempt"
    TIME_LIMIT = "time limit"
    HEARTBEAT = "heartbeat"
    LINGERS = "lingers"


@dataclass(frozen=True)
class Outcome:
    """The final state of an attempt; ``failure``: class and reason, where there is something to explain."""

    state: State
    failure: tuple[str, str] | None = None


def outcome(
    exit: Exit, ending: ev.Event | None, stop: tuple[StopReason, str] | None, *, oom_killed: bool, last_words: str
) -> Outcome:
    """What became of an attempt.

    Args:
        exit: how the process ended.
        ending: its last word in the events, if it had one.
        stop: why it was asked to stop, and the sentence that tells the user.
        oom_killed: the kernel killed a process for memory at the same moment.
        last_words: last line of the worker's log.
    """
    lingered = stop is not None and stop[0] is StopReason.LINGERS
    if isinstance(ending, ev.RunCompleted) and (exit.code == ExitCode.COMPLETED or lingered):
        return Outcome(State.COMPLETED)
    if stop and not lingered:
        return _stopped(ending, *stop)
    if isinstance(ending, ev.RunFailed):
        return Outcome(State.FAILED, (ending.payload.class_, ending.payload.reason))
    if exit.code == ExitCode.STOPPED or isinstance(ending, ev.RunCancelled):
        return Outcome(State.CANCELLED, (Failure.KILLED, "somebody sent the worker SIGTERM"))
    if exit.signal:
        return Outcome(State.FAILED, _signalled(exit.signal, oom_killed))
    if exit.code == ExitCode.DISK_FULL:
        return Outcome(State.FAILED, (Failure.DISK_FULL, "no space left on device: an event could not be written"))
    if exit.code == ExitCode.COMPLETED:
        return Outcome(State.FAILED, (Failure.WORKER_LOST, "the worker ended without completing the run"))
    return Outcome(State.FAILED, (Failure.USER_ERROR, f"exit code {exit.code}: {last_words or 'nothing in the log'}"))


def _stopped(ending: ev.Event | None, reason: StopReason, sentence: str) -> Outcome:
    if reason is StopReason.HEARTBEAT:
        return Outcome(State.FAILED, (Failure.WORKER_LOST, sentence))
    if reason is StopReason.TIME_LIMIT:
        return Outcome(State.TIMED_OUT, (Failure.TIMEOUT, sentence))
    if reason is StopReason.PREEMPT:
        return Outcome(State.PREEMPTED, (Failure.PREEMPTED, sentence))
    if not isinstance(ending, ev.RunCancelled):
        return Outcome(State.CANCELLED, (Failure.KILLED, "it ended before it had saved a checkpoint"))
    return Outcome(State.CANCELLED)


def _signalled(name: str, oom_killed: bool) -> tuple[str, str]:
    if name == "SIGKILL" and oom_killed:
        return Failure.OUT_OF_MEMORY, "the kernel killed the worker: the machine or its cgroup ran out of memory"
    return Failure.KILLED, f"the worker was killed by {name}"
