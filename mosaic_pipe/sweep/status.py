"""What became of the points of a sweep, read from their runs' manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.store.attempts import IsGone, is_gone, newest_attempt, owner_of
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.retry import worth_retrying
from mosaic_pipe.store.runs import Runs, current_manifest
from mosaic_pipe.store.states import State
from mosaic_pipe.store.sweeps import Point

NEW, QUEUED, DONE = "NEW", "QUEUED", State.COMPLETED.value


@dataclass(frozen=True)
class PointStatus:
    """A point and its run; ``state``: NEW, QUEUED (a job or a launcher has it before it), or the run's."""

    point: Point
    state: str
    manifest: Manifest | None = None

    @property
    def is_active(self) -> bool:
        """Somebody works on it, or is about to."""
        return self.state not in (NEW, DONE) and self.state not in ENDED

    @property
    def is_missing(self) -> bool:
        """It has not completed, and nobody is about to change that."""
        return self.state != DONE and not self.is_active

    @property
    def failure(self) -> str | None:
        """Class of the failure, if it ended with one."""
        return self.manifest.failure.class_ if self.manifest and self.manifest.failure else None


ENDED = frozenset(state.value for state in State if state.is_final and state is not State.COMPLETED)


def look_at(
    points: Iterable[Point], runs: Runs, gone: IsGone = is_gone, queued: Mapping[str, float] = MappingProxyType({})
) -> list[PointStatus]:
    """The status of each of ``points``.

    Args:
        points: of a sweep.
        runs: where their runs are.
        gone: tells whether a supervisor is dead.
        queued: ids of the runs that a job or a launcher is there for, and since when, in epoch seconds; what was begun
            after that is the job's own doing, and will be done again only if it is worth it.
    """
    return [_look_at(point, runs, gone, queued) for point in points]


def counted(statuses: Iterable[PointStatus]) -> str:
    """``20 new, 2 completed, 1 failed (killed)``."""
    counts = Counter((status.state, status.failure) for status in statuses)
    found = (
        f"{count} {state.lower()}{f' ({failure})' if failure else ''}" for (state, failure), count in counts.items()
    )
    return ", ".join(found) or "none"


def _look_at(point: Point, runs: Runs, gone: IsGone, queued: Mapping[str, float]) -> PointStatus:
    run = runs.new(point.run_id)
    newest = newest_attempt(run)
    if newest == 0:
        return PointStatus(point, QUEUED if point.run_id in queued else NEW)
    try:
        manifest = current_manifest(run, gone)
    except UserError:
        manifest = None
    if manifest is None or manifest.attempts[-1].number < newest:  # its owner is about to write it, or died before
        owner = owner_of(run, newest)
        if owner and not gone(owner):
            return PointStatus(point, State.PENDING.value, manifest)
    if manifest is None:
        return PointStatus(point, QUEUED if point.run_id in queued else NEW)
    if manifest.state.value in ENDED and point.run_id in queued:
        is_due = manifest.attempts[-1].started < queued[point.run_id]
        if is_due or worth_retrying(manifest):
            return PointStatus(point, QUEUED, manifest)
    return PointStatus(point, manifest.state.value, manifest)
