"""Which failed attempts a launcher tries again by itself, and how often."""

from __future__ import annotations

from mosaic_worker.protocol import Failure

from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.states import State

RETRIES: dict[str, int] = {
    Failure.PREEMPTED: 1000,  # the scheduler's doing, and training goes on from its checkpoint
    Failure.NODE_FAILURE: 10,
    Failure.KILLED: 1,
    Failure.WORKER_LOST: 1,
}
"""By class of failure; what is not named fails the same way again: a user's error, too little memory, a full disk, the
user's own time limit."""


def worth_retrying(manifest: Manifest) -> bool:
    """Whether the run, whose last attempt has ended, is tried again without anybody asking."""
    if manifest.state not in (State.FAILED, State.PREEMPTED) or manifest.failure is None:
        return False
    kind = manifest.failure.class_
    return sum(attempt.failure == kind for attempt in manifest.attempts) <= RETRIES.get(kind, 0)
