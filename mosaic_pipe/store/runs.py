"""The runs in an output directory: finding, listing, and setting right what a dead supervisor left behind."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mosaic_worker.protocol import Failure

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.store.attempts import IsGone, Owner, is_gone, newest_attempt, owner_of
from mosaic_pipe.store.manifest import Attempt, FailureReport, Manifest
from mosaic_pipe.store.retry import worth_retrying
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.states import State, check_transition
from mosaic_pipe.telemetry.fold import Fold
from mosaic_pipe.telemetry.reader import EventReader, Skipped

_SILENT_SECONDS = 600.0


class Runs:
    """The runs below ``output_dir``."""

    def __init__(self, output_dir: Path) -> None:
        self.directory = output_dir / "runs"

    def new(self, run_id: str) -> RunDir:
        """Where the run ``run_id`` will be."""
        return RunDir(self.directory / run_id)

    def ids(self) -> list[str]:
        """Ids of all runs, oldest first."""
        try:
            return sorted(entry.name for entry in os.scandir(self.directory) if entry.is_dir())
        except FileNotFoundError:
            return []

    def find(self, name: str) -> RunDir:
        """The run called ``name``: an id, a prefix that only one run has, or ``last``.

        Raises:
            UserError: none or several.
        """
        ids = self.ids()
        where = f"runs in {self.directory}"
        if name == "last":
            if not ids:
                raise UserError("there are no runs yet", where=where)
            return RunDir(self.directory / ids[-1])
        found = [run_id for run_id in ids if run_id.startswith(name.upper())] if name else []
        if not found:
            raise UserError(f"no run {name!r}", where=where, hint=did_you_mean(name.upper(), ids[-20:]))
        if len(found) > 1 and name.upper() not in found:
            raise UserError(f"{name!r} stands for {len(found)} runs", where=where, hint=f"e.g. {', '.join(found[:3])}")
        return RunDir(self.directory / found[0])

    def manifests(self) -> Iterator[Manifest]:
        """Manifests of all runs, oldest first; a directory without a readable one is passed over."""
        for run_id in self.ids():
            try:
                yield current_manifest(RunDir(self.directory / run_id))
            except UserError:
                continue


def current_manifest(run: RunDir, gone: IsGone = is_gone) -> Manifest:
    """The manifest of ``run``; where its supervisor died without writing the end, the end is written now.

    Args:
        run: whose.
        gone: tells whether a supervisor is dead.

    Raises:
        UserError: there is no readable manifest.
    """
    manifest = run.read_manifest()
    if not is_left(run, manifest.state, manifest.attempts, gone):
        return manifest
    manifest = run.read_manifest()  # it may have written the end before it went
    return _write_end(run, manifest) if is_left(run, manifest.state, manifest.attempts, gone) else manifest


def manifest_as_it_is(run: RunDir, gone: IsGone = is_gone) -> Manifest:
    """As :func:`current_manifest`, for who only looks: nothing is written.

    Raises:
        UserError: there is no readable manifest.
    """
    manifest = run.read_manifest()
    if is_left(run, manifest.state, manifest.attempts, gone):
        _end(run, manifest)
    return manifest


def manifest_to_go_on_with(run: RunDir) -> Manifest | None:
    """The manifest of ``run``, its last attempt ended; None where there is none yet. For who has taken the next one.

    Raises:
        UserError: it is not readable.
    """
    if not run.manifest_file.exists():
        return None
    manifest = run.read_manifest()
    return manifest if manifest.state.is_final else _write_end(run, manifest)


def end_if_silent(run: RunDir) -> bool:
    """Write the end of a run whose supervisor, wherever it is, has written nothing for ten minutes; whether it was so.

    A living one writes the manifest every few seconds. Both times are those of the file system that holds the run.
    """
    probe = run.path / f".probe-{os.getpid()}"
    try:
        probe.touch()
        silent = probe.stat().st_mtime - run.manifest_file.stat().st_mtime
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
    return silent > _SILENT_SECONDS and current_manifest(run, lambda owner: True).state.is_final


def next_attempt(run: RunDir, gone: IsGone = is_gone, since: float = math.inf) -> int | None:
    """Number of the attempt that may be made now; None where there is none to make.

    That is so while somebody works on ``run``, once it has completed, and once it has ended in an attempt that was
    begun after ``since``, in epoch seconds, by somebody else who was asked for the same: unless it is worth another.
    """
    newest = newest_attempt(run)
    if newest == 0:
        return 1
    try:
        manifest = current_manifest(run, gone)
        if manifest.attempts[-1].number >= newest:
            return newest + 1 if _may_go_on(manifest, since) else None
    except UserError:
        pass  # its owner has not come to write one
    owner = owner_of(run, newest)
    return newest + 1 if owner and gone(owner) else None


def _may_go_on(manifest: Manifest, since: float) -> bool:
    if not manifest.state.is_final or manifest.state is State.COMPLETED:
        return False
    return manifest.attempts[-1].started < since or worth_retrying(manifest)


def fold_attempts(run: RunDir, attempts: Iterable[Attempt]) -> tuple[Fold, Skipped]:
    """All events of ``attempts`` folded, and how many lines held none."""
    fold, skipped = Fold(), Skipped()
    for attempt in attempts:
        reader = EventReader(run.events_file(attempt.number))
        fold.feed(reader.read(final=True))
        skipped += reader.skipped
    return fold, skipped


def record_fold(manifest: Manifest, fold: Fold, skipped: Skipped) -> None:
    """Bring what ``manifest`` says of events up to date."""
    manifest.summary = fold.summary()
    manifest.stages, manifest.checkpoints, manifest.artifacts = fold.stages, fold.checkpoints, fold.artifacts
    for artifact in fold.artifacts:
        if artifact.kind == "tensorboard":
            manifest.tracking.tensorboard = artifact.path
        elif artifact.kind == "wandb":
            manifest.tracking.wandb, manifest.tracking.wandb_url = artifact.path, artifact.url
    manifest.telemetry = fold.telemetry(skipped)


def is_left(run: RunDir, state: State, attempts: Sequence[Attempt], gone: IsGone = is_gone) -> bool:
    """Whether nobody will write the end of the last of ``attempts``, and nobody has begun another one."""
    if state.is_final or not attempts:
        return False
    attempt = attempts[-1]
    return gone(_owner(attempt)) and newest_attempt(run) <= attempt.number


def _owner(attempt: Attempt) -> Owner:
    return Owner(
        host=attempt.host,
        pid=attempt.pid,
        pid_started=attempt.pid_started,
        pid_mark=attempt.pid_mark,
        slurm=attempt.slurm,
    )


def _write_end(run: RunDir, manifest: Manifest) -> Manifest:
    _end(run, manifest)
    try:
        run.write_manifest(manifest, use_reserve=True)
        run.release_reserve()
    except OSError:
        pass  # someone else's directory, or a full disk: what is shown is right all the same
    return manifest


def _end(run: RunDir, manifest: Manifest) -> None:
    """Bring the last attempt of ``manifest`` to the end that its supervisor did not write."""
    fold, skipped = fold_attempts(run, manifest.attempts)
    record_fold(manifest, fold, skipped)
    attempt = manifest.attempts[-1]
    manifest.state = attempt.state = check_transition(manifest.state, State.FAILED)
    kind, reason = Failure.WORKER_LOST, "the supervisor ended without writing the end of the run"
    if attempt.slurm:
        kind, reason = Failure.NODE_FAILURE, f"the Slurm job ended on {attempt.host} without writing the end of the run"
    manifest.failure = FailureReport(kind, reason, run.log_tail(attempt.number))
    attempt.failure, attempt.ended = kind, time.time()
