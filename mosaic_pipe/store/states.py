"""The states of a run, and which may follow which; docs/lifecycle.md tells the story."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a run is in its life."""

    PENDING = "PENDING"
    PROVISIONING = "PROVISIONING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"
    PREEMPTED = "PREEMPTED"

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in (State.PENDING, State.PROVISIONING, State.RUNNING)


_ENDS = frozenset({State.FAILED, State.CANCELLED, State.TIMED_OUT, State.PREEMPTED})

TRANSITIONS: dict[State, frozenset[State]] = {
    State.PENDING: frozenset({State.PROVISIONING, State.FAILED, State.CANCELLED}),
    State.PROVISIONING: frozenset({State.RUNNING}) | _ENDS,
    State.RUNNING: frozenset({State.COMPLETED}) | _ENDS,
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset({State.PENDING}),
    State.CANCELLED: frozenset({State.PENDING}),
    State.TIMED_OUT: frozenset({State.PENDING}),
    State.PREEMPTED: frozenset({State.PENDING}),
}
"""A run that ended early may be tried again; one that completed may not."""


class IllegalTransition(Exception):
    """A bug of ours: a run was about to go where it cannot."""


def check_transition(current: State, new: State) -> State:
    """``new``, if a run may go there from ``current``.

    Raises:
        IllegalTransition: it may not.
    """
    if new not in TRANSITIONS[current]:
        raise IllegalTransition(f"a run cannot go from {current} to {new}")
    return new
