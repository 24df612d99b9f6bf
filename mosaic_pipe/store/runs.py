"""The runs in an output directory: finding, listing, and setting right what a dead supervisor left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from mosaic_worker.protocol import Failure

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.base.processes import is_alive, this_host
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.store.manifest import FailureReport, Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.states import State, check_transition
from mosaic_pipe.telemetry.fold import Fold
from mosaic_pipe.telemetry.reader import EventReader, Skipped


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


def current_manifest(run: RunDir) -> Manifest:
    """The manifest of ``run``; where its supervisor died without writing the end, the end is written now.

    Raises:
        UserError: there is no readable manifest.
    """
    manifest = run.read_manifest()
    if manifest.state.is_final or not _supervisor_is_gone(manifest):
        return manifest
    manifest = run.read_manifest()  # it may have written the end before it went
    return manifest if manifest.state.is_final else _write_end(run, manifest)


def fold_run(run: RunDir, manifest: Manifest) -> tuple[Fold, Skipped]:
    """All events of ``run`` folded, and the lines that held none."""
    fold, skipped = Fold(), Skipped()
    for attempt in manifest.attempts:
        reader = EventReader(run.events_file(attempt.number))
        fold.feed(reader.read(final=True))
        for reason in skipped.__struct_fields__:
            setattr(skipped, reason, getattr(skipped, reason) + getattr(reader.skipped, reason))
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


def _supervisor_is_gone(manifest: Manifest) -> bool:
    """Only the machine that it ran on can tell."""
    if not manifest.attempts:
        return False
    attempt = manifest.attempts[-1]
    return attempt.host == this_host() and not is_alive(attempt.pid, attempt.pid_started)


def _write_end(run: RunDir, manifest: Manifest) -> Manifest:
    fold, skipped = fold_run(run, manifest)
    record_fold(manifest, fold, skipped)
    number = manifest.attempts[-1].number
    manifest.state = check_transition(manifest.state, State.FAILED)
    reason = "the supervisor ended without writing the end of the run"
    manifest.failure = FailureReport(Failure.WORKER_LOST, reason, run.log_tail(number))
    manifest.attempts[-1].ended = time.time()
    try:
        run.write_manifest(manifest)
        run.release_reserve()
    except OSError:
        pass  # someone else's directory, or a full disk: what is shown is right all the same
    return manifest
