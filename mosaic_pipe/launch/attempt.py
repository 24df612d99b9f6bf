"""The beginning of an attempt: taking it, its checkpoint, its manifest."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker.files import fingerprint, write_atomically

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.launch.preparation import Prepared
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.attempts import Owner, owner_of, take_attempt
from mosaic_pipe.store.manifest import Attempt, Manifest, Tracking
from mosaic_pipe.store.provenance import provenance
from mosaic_pipe.store.run_dir import DISK_FULL, RunDir
from mosaic_pipe.store.runs import manifest_to_go_on_with
from mosaic_pipe.store.states import State, check_transition
from mosaic_pipe.supervise.start import Spawn, Start, spawn, worker_arguments, worker_program, worker_variables
from mosaic_pipe.supervise.supervisor import Progress, Supervisor
from mosaic_pipe.telemetry.events import Checkpoint
from mosaic_pipe.telemetry.fold import Summary
from mosaic_pipe.workers.capabilities import Capabilities


@dataclass(frozen=True)
class Share:
    """An attempt's part of the machine; None: whatever the spec's resources say."""

    cores: frozenset[int] | None = None
    gpus: tuple[str, ...] | None = None


def begin_attempt(
    prepared: Prepared,
    run: RunDir,
    number: int,
    owner: Owner,
    share: Share,
    show: Callable[[Progress], None],
    spawn: Spawn = spawn,
) -> Supervisor | None:
    """Take attempt ``number`` of the run and start its worker; None where somebody else has taken it.

    From the second attempt on, training goes on from the newest whole checkpoint of the run, where there is one.

    Args:
        prepared: what to run.
        run: where.
        number: from ``next_attempt``.
        owner: this process.
        share: the worker's part of the machine.
        show: called with how far the run is, whenever the supervisor looks.
        spawn: what starts the worker's process.

    Raises:
        UserError: the run's directory could not be written; nothing of the attempt is left.
    """
    try:
        if not take_attempt(run, number, owner):
            return None
        manifest = _manifest_to_go_on_with(run, number)
        if manifest and manifest.state is State.COMPLETED:  # just now, by one that was taken for dead
            _undo(run, number, owner)
            return None
        manifest, checkpoint = _set_up(run, prepared, manifest, number, owner)
        supervisor = Supervisor(run, manifest, show)
        start = Start(
            program=worker_program(prepared.worker, prepared.environment),
            arguments=worker_arguments(run.spec_file, checkpoint),
            variables=worker_variables(prepared.spec, prepared.environment, share.gpus),
            cores=share.cores,
            folder=run.path.resolve(),
            events=run.events_file(number).resolve(),
            log=run.log_file(number).resolve(),
        )
        supervisor.start(start, spawn)
    except OSError as error:
        _undo(run, number, owner)
        raise disk_error(error, run, "the run's directory could not be written") from error
    return supervisor


def _manifest_to_go_on_with(run: RunDir, number: int) -> Manifest | None:
    try:
        return manifest_to_go_on_with(run)
    except UserError as error:
        shutil.rmtree(run.owner_file(number).parent, ignore_errors=True)
        error.hint = "repair it, or move the run's directory away to begin anew"
        raise


def _undo(run: RunDir, number: int, owner: Owner) -> None:
    """Remove what :func:`begin_attempt` made, and nothing of anybody else's."""
    if owner_of(run, number) == owner:
        shutil.rmtree(run.path if number == 1 else run.owner_file(number).parent, ignore_errors=True)
    for folder in (run.attempts_dir, run.path):
        with contextlib.suppress(OSError):  # not empty: it is in use
            folder.rmdir()


def disk_error(error: OSError, run: RunDir, what: str) -> UserError:
    """What a user is told of ``error``."""
    refusal = UserError(f"{what}: {error.strerror or error}", where=str(run.path))
    if error.errno in DISK_FULL:
        refusal.exit_code = Exit.DISK_FULL
    return refusal


def _set_up(
    run: RunDir, prepared: Prepared, manifest: Manifest | None, number: int, owner: Owner
) -> tuple[Manifest, Path | None]:
    """The attempt's manifest, which is on disk, and the checkpoint that it goes on from."""
    run.reserve()
    attempt = Attempt(number, owner.host, owner.pid, owner.pid_started, owner.pid_mark, time.time(), slurm=owner.slurm)
    checkpoint = _newest_whole(run, manifest) if manifest and _can_go_on(prepared) else None
    if manifest is None:
        manifest = _first_manifest(prepared)
        run.write_spec(prepared.spec)
        packages = prepared.environment.packages.encode()
        write_atomically(run.path / manifest.provenance.packages, lambda file: file.write(packages))
    else:
        manifest.state = check_transition(manifest.state, State.PENDING)
    attempt.resumed_at = checkpoint.env_steps if checkpoint else None
    manifest.attempts.append(attempt)
    manifest.failure = None
    run.write_manifest(manifest)
    return manifest, run.path / checkpoint.path if checkpoint else None


def _can_go_on(prepared: Prepared) -> bool:
    spec, capabilities = prepared.spec, prepared.worker.capabilities
    modes = capabilities.algorithms[spec.algo.name].modes or capabilities.modes
    return spec.mode in ("train", "resume_training") and "resume_training" in modes


def _newest_whole(run: RunDir, manifest: Manifest) -> Checkpoint | None:
    """The newest checkpoint that is what the run wrote: a dying machine may have cut the last one short."""
    for checkpoint in reversed(manifest.checkpoints):
        try:
            if fingerprint(run.path / checkpoint.path)["sha256"] == checkpoint.sha256:
                return checkpoint
        except OSError:
            continue
    return None


def _first_manifest(prepared: Prepared) -> Manifest:
    spec, capabilities = prepared.spec, prepared.worker.capabilities
    python = prepared.environment.description.python
    versions = {"python": python, capabilities.upstream_library: _library_version(spec, capabilities)}
    return Manifest(
        run_id=spec.run_id,
        spec_hash=spec_hash(spec),
        state=State.PENDING,
        spec=spec,
        sweep=spec.sweep,
        summary=Summary(),
        tracking=Tracking(),
        provenance=provenance(prepared.environment.key, versions),
    )


def _library_version(spec: RunSpec, capabilities: Capabilities) -> str:
    if spec.worker.source == "git":
        return f"{spec.worker.commit} of {spec.worker.repository}"
    return f"checkout {spec.worker.path}" if spec.worker.source == "path" else capabilities.upstream_version
