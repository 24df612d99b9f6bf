from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mosaic_pipe.store.states import TRANSITIONS, IllegalTransition, State, check_transition
from mosaic_pipe.supervise.outcome import StopReason, outcome
from mosaic_pipe.supervise.process import Exit
from mosaic_pipe.telemetry.events import Event

TOTALS = {"env_steps": 1, "wall_time": 1.0, "sps": 1.0}


def said(kind: str, **payload: Any) -> Event:
    envelope = {"event": kind, "run_id": "R", "attempt": 1, "seq": 1, "time": 1.0, "payload": {**TOTALS, **payload}}
    found: Event = msgspec.convert(envelope, Event)
    return found


COMPLETED, CANCELLED = said("run_completed"), said("run_cancelled")
FAILED = said("run_failed", **{"class": "out_of_memory", "reason": "CUDA out of memory"})
CANCEL, PREEMPT, TIME, HEARTBEAT, LINGERS = ((reason, "why") for reason in StopReason)


@pytest.mark.parametrize(
    ("code", "signal", "ending", "stop", "oom", "expected"),
    [
        (0, None, COMPLETED, None, False, ("COMPLETED", None)),
        (0, None, COMPLETED, CANCEL, False, ("COMPLETED", None)),
        (0, None, None, None, False, ("FAILED", "worker_lost")),
        (1, None, FAILED, None, False, ("FAILED", "out_of_memory")),
        (1, None, None, None, False, ("FAILED", "user_error")),
        (2, None, None, None, False, ("FAILED", "user_error")),
        (74, None, None, None, False, ("FAILED", "disk_full")),
        (75, None, CANCELLED, None, False, ("CANCELLED", "killed")),
        (75, None, CANCELLED, CANCEL, False, ("CANCELLED", None)),
        (75, None, CANCELLED, PREEMPT, False, ("PREEMPTED", "preempted")),
        (None, "SIGKILL", None, PREEMPT, False, ("PREEMPTED", "preempted")),
        (0, None, COMPLETED, PREEMPT, False, ("COMPLETED", None)),
        (75, None, CANCELLED, TIME, False, ("TIMED_OUT", "timeout")),
        (75, None, CANCELLED, HEARTBEAT, False, ("FAILED", "worker_lost")),
        (None, "SIGKILL", None, None, False, ("FAILED", "killed")),
        (None, "SIGKILL", None, None, True, ("FAILED", "out_of_memory")),
        (None, "SIGSEGV", None, None, True, ("FAILED", "killed")),
        (None, "SIGKILL", None, CANCEL, False, ("CANCELLED", "killed")),
        (None, "SIGKILL", None, TIME, False, ("TIMED_OUT", "timeout")),
        (None, "SIGKILL", COMPLETED, None, False, ("FAILED", "killed")),
        (None, "SIGKILL", COMPLETED, LINGERS, False, ("COMPLETED", None)),
        (None, "SIGKILL", CANCELLED, LINGERS, False, ("CANCELLED", "killed")),
        (None, "SIGKILL", FAILED, LINGERS, False, ("FAILED", "out_of_memory")),
        (None, "SIGKILL", CANCELLED, CANCEL, False, ("CANCELLED", None)),
    ],
)
def test_from_exit_to_state(
    code: int | None,
    signal: str | None,
    ending: Event | None,
    stop: tuple[StopReason, str] | None,
    oom: bool,
    expected: tuple[str, str | None],
) -> None:
    found = outcome(Exit(code, signal, 0.0, 0.0), ending, stop, oom_killed=oom, last_words="the last line")
    assert (found.state, found.failure[0] if found.failure else None) == expected


def test_a_crash_without_an_event_quotes_the_log() -> None:
    found = outcome(Exit(1, None, 0.0, 0.0), None, None, oom_killed=False, last_words="ImportError: no torch")
    assert found.failure == ("user_error", "exit code 1: ImportError: no torch")


@pytest.mark.parametrize("current", State)
@pytest.mark.parametrize("new", State)
def test_only_listed_transitions_are_made(current: State, new: State) -> None:
    if new in TRANSITIONS[current]:
        assert check_transition(current, new) is new
    else:
        with pytest.raises(IllegalTransition, match=f"from {current} to {new}"):
            check_transition(current, new)


def test_what_has_completed_is_over() -> None:
    assert not TRANSITIONS[State.COMPLETED]
    assert all(TRANSITIONS[state] for state in State if state is not State.COMPLETED)
