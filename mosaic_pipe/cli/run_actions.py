"""``runs tail``, ``runs cancel`` and ``runs rm``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.cli.frames import show_frames
from mosaic_pipe.cli.own import runs_command
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, current_manifest

_LOOK_SECONDS = 0.2


def tail_run(runs: Runs, options: argparse.Namespace) -> int:
    """Print a run's events or log as they come, or show its frames, until it ends."""
    run = runs.find(options.run)
    if options.frames:
        return show_frames(run)
    number = current_manifest(run).attempts[-1].number
    file = run.log_file(number) if options.log else run.events_file(number)
    for line in _follow(file, options.lines, run):
        sys.stdout.write(line if options.log or options.json else _readable(line))
        sys.stdout.flush()
    return Exit.OK


def cancel_run(runs: Runs, options: argparse.Namespace) -> int:
    """Ask a run's supervisor, wherever it is, to stop it, and wait until it has."""
    run = runs.find(options.run)
    manifest = current_manifest(run)
    if manifest.state.is_final:
        raise UserError(f"has ended already: {manifest.state}", where=f"run {manifest.run_id}")
    attempt = manifest.attempts[-1]
    try:
        run.stop_file(attempt.number).touch()
    except OSError as error:
        raise UserError(f"cannot be told to stop: {error.strerror}", where=f"run {manifest.run_id}") from error
    deadline = time.monotonic() + manifest.spec.resources.stop_grace + 15
    while not (manifest := current_manifest(run)).state.is_final:
        if time.monotonic() > deadline:
            hint = f"its supervisor is process {attempt.pid} on {attempt.host}"
            raise UserError("was asked to stop and has not ended yet", where=f"run {manifest.run_id}", hint=hint)
        time.sleep(_LOOK_SECONDS)
    return _say(options, {"run_id": manifest.run_id, "state": manifest.state.value})


def remove_run(runs: Runs, options: argparse.Namespace) -> int:
    """Delete a run's directory."""
    run = runs.find(options.run)
    manifest = _manifest_if_any(run)
    if manifest and not manifest.state.is_final:
        hint = f"cancel it first: {runs_command('cancel', manifest.run_id, options.output_dir)}"
        raise UserError(f"is {manifest.state}", where=f"run {manifest.run_id}", hint=hint)
    try:
        shutil.rmtree(run.path)
    except OSError as error:
        raise UserError(f"could not be deleted: {error.strerror}", where=str(error.filename)) from error
    return _say(options, {"run_id": run.path.name, "removed": str(run.path)})


def _manifest_if_any(run: RunDir) -> Manifest | None:
    try:
        return current_manifest(run)
    except UserError:
        return None  # a directory without a manifest is nobody's run: it may go


def _say(options: argparse.Namespace, facts: dict[str, str]) -> int:
    print(json.dumps(facts) if options.json else "  ".join(facts.values()))
    return Exit.OK


def _follow(file: Path, last: int, run: RunDir) -> Iterator[str]:
    """The last lines of ``file``, then new ones until the run has ended."""
    while not file.exists() and not current_manifest(run).state.is_final:
        time.sleep(_LOOK_SECONDS)
    if not file.exists():
        return
    with file.open(encoding="utf-8", errors="replace") as opened:
        yield from deque(opened, maxlen=max(0, last))
        while True:
            ended = current_manifest(run).state.is_final  # asked first, so that nothing is missed
            yield from opened
            if ended:
                return
            time.sleep(_LOOK_SECONDS)


def _readable(line: str) -> str:
    """An event as ``12:34:56  episode  env_steps=…``; anything else as it is."""
    try:
        event = json.loads(line)
        clock = time.strftime("%H:%M:%S", time.localtime(event["time"]))
        numbers = "  ".join(f"{key}={_short(value)}" for key, value in event["payload"].items())
        return f"{clock}  {event['event']:<16}  {numbers}\n"
    except (ValueError, KeyError, TypeError, AttributeError):
        return line


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
