"""A run in the foreground, as the user sees it: progress, then where the results are or what went wrong."""

from __future__ import annotations

from pathlib import Path

from mosaic_worker.protocol import Failure
from rich.console import Console
from rich.markup import escape

from mosaic_pipe.base.errors import Exit
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.own import resume_command, runs_command
from mosaic_pipe.cli.progress import ProgressDisplay
from mosaic_pipe.cli.tables import reached
from mosaic_pipe.launch.foreground import run_here
from mosaic_pipe.launch.preparation import Preparation, Prepared
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State


def run_in_foreground(spec: RunSpec, output_dir: Path) -> int:
    """Prepare and run ``spec`` below ``output_dir``; returns the exit code.

    Raises:
        UserError: it could not be started, or its end not be written.
    """
    prepared = Preparation(show_notice).prepare(spec)
    with ProgressDisplay(spec) as display:
        manifest = run_here(prepared, output_dir, display.show)
    _report(manifest, output_dir, prepared)
    return exit_code(manifest)


def exit_code(manifest: Manifest) -> Exit:
    """The exit code of ``mosaic-pipe`` for a run that ended so."""
    if manifest.state is State.COMPLETED:
        return Exit.OK
    if manifest.state is State.CANCELLED:
        return Exit.CANCELLED
    if manifest.failure and manifest.failure.class_ == Failure.DISK_FULL:
        return Exit.DISK_FULL
    return Exit.RUN_FAILED


def _report(manifest: Manifest, output_dir: Path, prepared: Prepared) -> None:
    run = Runs(output_dir).new(manifest.run_id)
    console = Console(stderr=manifest.state is not State.COMPLETED, soft_wrap=True, highlight=False)
    console.print(f"{manifest.state}  {manifest.run_id}  {_totals(manifest)}")
    if manifest.failure:
        failure = manifest.failure
        console.print(f"  {failure.class_}: {escape(failure.reason)}")
        for line in failure.log_tail:
            console.print(f"  | {escape(line)}")
        console.print(f"  whole log  {run.log_file(manifest.attempts[-1].number)}")
    console.print(f"  results    {run.path}")
    console.print(f"  look       {runs_command('show', manifest.run_id, output_dir)}")
    if manifest.tracking.tensorboard:
        programs = prepared.environment.python.parent
        console.print(f"             {programs / 'tensorboard'} --logdir {run.path / manifest.tracking.tensorboard}")
    if manifest.checkpoints and manifest.state is not State.COMPLETED and _can_resume(prepared):
        console.print(f"  go on      {resume_command(manifest.run_id, output_dir)}")


def _can_resume(prepared: Prepared) -> bool:
    capabilities = prepared.worker.capabilities
    algorithm = capabilities.algorithms[prepared.spec.algo.name]
    return "resume_training" in (algorithm.modes or capabilities.modes)


def _totals(manifest: Manifest) -> str:
    summary = manifest.summary
    parts = [reached(summary.env_steps, summary.updates)]
    if summary.sps:
        parts.append(f"{summary.sps:.0f} steps/s")
    if summary.mean_return is not None:
        which = f"last {min(summary.episodes, 100)} episodes" if summary.episodes else "evaluation"
        parts.append(f"mean return {summary.mean_return:.1f} ({which})")
    return ", ".join(parts)
