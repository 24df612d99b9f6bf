"""``runs ls`` and ``runs show``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from rich.console import Console
from rich.markup import escape

from mosaic_pipe.base.errors import Exit
from mosaic_pipe.cli.tables import print_json, print_table, reached, steps_cell
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, current_manifest
from mosaic_pipe.telemetry.budget import budget

_COLORS = {"COMPLETED": "green", "FAILED": "red", "TIMED_OUT": "red", "RUNNING": "cyan"}
_COLUMNS = ("run", "state", "worker", "algo", "env", "seed", "sweep", "steps", "return", "age")
_FILTERS = ("state", "worker", "algo", "env", "sweep")


def list_runs(runs: Runs, options: argparse.Namespace) -> int:
    """List the runs that pass the filters."""
    rows = [row for manifest in runs.manifests() if _passes(row := run_row(manifest), options)]
    if options.json:
        print_json(rows)
    elif rows:
        print_table(_COLUMNS, map(_cells, rows), right=_COLUMNS[-3:])
    else:
        print(f"no runs in {runs.directory}")
    return Exit.OK


def show_run(runs: Runs, options: argparse.Namespace) -> int:
    """Show one run."""
    run = runs.find(options.run)
    manifest = current_manifest(run)
    if options.json:
        print(run.manifest_file.read_text(encoding="utf-8"), end="")
    else:
        _print_run(manifest, run)
    return Exit.OK


def run_row(manifest: Manifest) -> dict[str, Any]:
    """What a list says of a run."""
    spec, summary = manifest.spec, manifest.summary
    return {
        "run_id": manifest.run_id,
        "spec_hash": manifest.spec_hash,
        "state": manifest.state.value,
        "worker": spec.worker.name,
        "algo": spec.algo.name,
        "env": spec.env.id,
        "seed": spec.seed,
        "sweep": manifest.sweep,
        "env_steps": summary.env_steps,
        "updates": summary.updates,
        "episode_return_mean": summary.episode_return_mean,
        "mean_return": summary.mean_return,
        "sps": summary.sps,
        "wall_time": summary.wall_time,
        "created": manifest.provenance.created,
        "failure": manifest.failure.class_ if manifest.failure else None,
    }


def _passes(row: dict[str, Any], options: argparse.Namespace) -> bool:
    return all(getattr(options, name) in (None, row[name]) for name in _FILTERS)


def _cells(row: dict[str, Any]) -> list[str]:
    state = row["state"] + (f" {row['failure']}" if row["failure"] else "")
    return [
        row["run_id"],
        f"[{_COLORS.get(row['state'], 'yellow')}]{state}[/]",
        *(escape(str(row[key])) for key in ("worker", "algo", "env", "seed")),
        escape(row["sweep"] or ""),
        steps_cell(row),
        _number(row["mean_return"]),
        _age(row["created"]),
    ]


def _print_run(manifest: Manifest, run: RunDir) -> None:
    summary, spec, attempt = manifest.summary, manifest.spec, manifest.attempts[-1]
    plays = spec.mode in ("policy_eval", "collect")
    facts: dict[str, Any] = {
        "run": manifest.run_id,
        "state": manifest.state.value,
        "what": spec.title(),
        "steps": f"{summary.env_steps} played" if plays else "{} of {} {}".format(*budget(summary, spec)),
        "speed": f"{_number(summary.sps or None)} steps/s, {summary.wall_time:.1f} s",
        "episodes": f"{summary.eval_episodes} of the evaluation"
        if plays or spec.algo.updates is not UNSET
        else f"{summary.episodes}, mean return {_number(summary.episode_return_mean)},"
        f" mean length {_number(summary.episode_length_mean)} (last 100)",
        "attempt": f"{attempt.number} on {attempt.host}, supervisor {attempt.pid}, worker {attempt.worker_pid},"
        f" exit {attempt.signal or attempt.exit_code}",
        "used": f"{_number(attempt.cpu_seconds)} s of CPU, at most {_number(attempt.peak_rss_mb)} MiB",
        "spec": manifest.spec_hash,
        "git": _git(manifest),
        "directory": str(run.path),
        "log": str(run.log_file(attempt.number)),
    }
    if spec.worker.script:
        facts["script"] = spec.worker.script
    lines = [*facts.items(), *_places(manifest, run)]
    if manifest.failure:
        lines.append(("failure", f"{manifest.failure.class_}: {manifest.failure.reason}"))
    console = Console(highlight=False, soft_wrap=True)
    for name, value in lines:
        console.print(f"[bold]{name:<14}[/]{escape(str(value))}")
    for line in manifest.failure.log_tail if manifest.failure else ():
        console.print(f"  | {escape(line)}")


def _places(manifest: Manifest, run: RunDir) -> Iterator[tuple[str, str]]:
    """What the run went through, and where things are."""
    if manifest.spec.resume.checkpoint:
        yield "started from", manifest.spec.resume.checkpoint
    if manifest.spec.dataset.path:
        yield "learns from", manifest.spec.dataset.path
    for stage in manifest.stages:
        reason = f", after {stage.reason}" if stage.reason else ""
        yield "stage", f"{stage.index} {stage.name or stage.env_id} from step {stage.env_steps}{reason}"
    if result := manifest.summary.eval:
        yield "evaluation", _evaluation(result)
    for checkpoint in manifest.checkpoints:
        far = reached(checkpoint.env_steps, checkpoint.updates)
        yield "checkpoint", f"{run.path / checkpoint.path} ({far}, {checkpoint.size} bytes)"
    for artifact in manifest.artifacts:
        yield artifact.kind, f"{run.path / artifact.path}{f' {artifact.url}' if artifact.url else ''}"
    for warning in manifest.telemetry.warnings if manifest.telemetry else ():
        yield "warning", warning


def _evaluation(result: dict[str, Any]) -> str:
    """The canonical numbers of an evaluation, as far as the worker gave them."""
    names = {"return_mean": "mean", "return_std": "std", "return_iqm": "IQM", "return_min": "min", "return_max": "max"}
    numbers = (f"{short} {result[key]:.2f}" for key, short in names.items() if isinstance(result.get(key), float))
    return f"{result.get('episode_count')} episodes, returns: {', '.join(numbers)}"


def _git(manifest: Manifest) -> str:
    git = manifest.provenance.git
    return f"{git['commit'][:12]}{' with changes' if git['dirty'] else ''}" if git else "not in a checkout"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _age(created: float) -> str:
    seconds = max(0, int(time.time() - created))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
