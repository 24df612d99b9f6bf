"""A run in the foreground: this process is its supervisor."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker.files import write_atomically

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.base.processes import start_time, this_host
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.manifest import Attempt, Manifest, Tracking
from mosaic_pipe.store.provenance import provenance
from mosaic_pipe.store.run_dir import DISK_FULL, RunDir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State
from mosaic_pipe.supervise.process import choose_gpus, worker_command, worker_variables
from mosaic_pipe.supervise.supervisor import Progress, Supervisor
from mosaic_pipe.telemetry.fold import Summary
from mosaic_pipe.workers.capabilities import Capabilities
from mosaic_pipe.workers.environment import Environment, ensure_environment, user_environment, with_checkout
from mosaic_pipe.workers.fit import check_capabilities, check_native
from mosaic_pipe.workers.recipe import checkout_of, recipe_for
from mosaic_pipe.workers.registry import Worker, find_worker


@dataclass(frozen=True)
class Prepared:
    """A spec that was checked against its worker, and the interpreter to run it in."""

    spec: RunSpec
    worker: Worker
    environment: Environment


def prepare(spec: RunSpec, say: Callable[[str], None]) -> Prepared:
    """Check ``spec`` against its worker, and see to the worker's environment; no run exists yet.

    Args:
        spec: what to run.
        say: told what takes time.

    Raises:
        UserError: the worker rules it out, or its environment cannot be made.
    """
    worker = find_worker(spec.worker.name)
    check_capabilities(spec, worker.capabilities)
    choose_gpus(spec.resources)
    recipe, checkout = recipe_for(spec, worker), checkout_of(spec)
    if spec.worker.python:
        environment = user_environment(worker, spec.worker.python)
    else:
        environment = ensure_environment(recipe, say)
    if checkout:
        environment = with_checkout(environment, worker, checkout)
    check_native(spec, environment.description)
    return Prepared(spec, worker, environment)


def run_here(prepared: Prepared, output_dir: Path, show: Callable[[Progress], None]) -> Manifest:
    """Run what was prepared to its end, supervised by this process.

    Args:
        prepared: from :func:`prepare`.
        output_dir: the run gets a directory below ``runs/`` in it.
        show: called several times a second with how far the run is.

    Raises:
        UserError: the run's directory could not be made or its end not be written.
    """
    spec = prepared.spec
    run = Runs(output_dir).new(spec.run_id)
    try:
        manifest = _create(run, prepared)
    except OSError as error:
        shutil.rmtree(run.path, ignore_errors=True)
        raise _disk_error(error, run, "the run's directory could not be made") from error
    command = worker_command(prepared.worker, prepared.environment, run.spec_file)
    try:
        return Supervisor(run, manifest, show).supervise(command, worker_variables(spec, prepared.environment))
    except OSError as error:
        raise _disk_error(error, run, "the end of the run could not be written") from error


def _create(run: RunDir, prepared: Prepared) -> Manifest:
    run.create(prepared.spec)
    run.reserve()
    packages = prepared.environment.packages.encode()
    manifest = _first_manifest(prepared)
    write_atomically(run.path / manifest.provenance.packages, lambda file: file.write(packages))
    run.start_attempt(1)
    run.write_manifest(manifest)
    return manifest


def _first_manifest(prepared: Prepared) -> Manifest:
    spec, capabilities = prepared.spec, prepared.worker.capabilities
    pid = os.getpid()
    python = prepared.environment.description.python
    versions = {"python": python, capabilities.upstream_library: _library_version(spec, capabilities)}
    return Manifest(
        run_id=spec.run_id,
        spec_hash=spec_hash(spec),
        state=State.PENDING,
        spec=spec,
        sweep=spec.sweep,
        attempts=[Attempt(1, this_host(), pid, start_time(pid), time.time())],
        summary=Summary(),
        tracking=Tracking(),
        provenance=provenance(prepared.environment.key, versions),
    )


def _library_version(spec: RunSpec, capabilities: Capabilities) -> str:
    if spec.worker.source == "git":
        return f"{spec.worker.commit} of {spec.worker.repository}"
    return f"checkout {spec.worker.path}" if spec.worker.source == "path" else capabilities.upstream_version


def _disk_error(error: OSError, run: RunDir, what: str) -> UserError:
    refusal = UserError(f"{what}: {error.strerror or error}", where=str(run.path))
    if error.errno in DISK_FULL:
        refusal.exit_code = Exit.DISK_FULL
    return refusal
