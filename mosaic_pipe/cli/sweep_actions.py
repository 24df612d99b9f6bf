"""``sweep retry``, ``cancel``, ``watch``, and what a detached sweep runs."""

from __future__ import annotations

import argparse
import time

from mosaic_worker.protocol import Failure

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.cli.launching import launch, launch_here
from mosaic_pipe.cli.live_sweep import LiveSweep
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.sweep_tables import print_summary, worst_exit_code
from mosaic_pipe.cli.watching import watch
from mosaic_pipe.store.provenance import own_arguments
from mosaic_pipe.store.runs import Runs, end_if_silent
from mosaic_pipe.store.sweeps import Submission, Sweeps
from mosaic_pipe.sweep.status import PointStatus, counted

_CLASSES = tuple(value for name, value in vars(Failure).items() if name.isupper())
_LOOK_SECONDS = 0.5


def retry_sweep(options: argparse.Namespace) -> int:
    """Run points again that did not complete."""
    if options.failed and options.failed not in _CLASSES:
        hint = did_you_mean(options.failed, _CLASSES)
        raise UserError(f"there is no class of failure {options.failed!r}", where="--failed", hint=hint)
    live = LiveSweep(Sweeps(options.output_dir).find(options.name), Runs(options.output_dir))
    if options.lost:
        lost = [one for one in live.look() if one.is_active and end_if_silent(live.run_of(one))]
        show_notice(f"sweep {options.name}: {len(lost)} runs are lost")
    submissions = live.sweep.submissions()
    todo = [status.point.spec_hash for status in live.look() if status.is_missing and _wanted(status, options.failed)]
    if not todo:
        print(f"sweep {options.name}: nothing to try again")
        return Exit.OK
    last = submissions[-1]
    again = Submission(
        submitted=time.time(),
        argv=own_arguments(),
        launcher=last.launcher,
        settings={**last.settings, "detach": options.detach},
        points=[],
        replaced=[],
        todo=todo,
    )
    launch(live.sweep, live.sweep.submit(again), options.output_dir)
    chosen = [status for status in live.look() if status.point.spec_hash in todo]
    print_summary(live.sweep, chosen, options.output_dir)
    return worst_exit_code(chosen)


def cancel_sweep(options: argparse.Namespace) -> int:
    """Stop everything that runs or waits."""
    live = LiveSweep(Sweeps(options.output_dir).find(options.name), Runs(options.output_dir))
    live.stop()
    grace = max((one.point.spec.resources.stop_grace for one in live.look() if one.is_active), default=0.0)
    deadline = time.monotonic() + grace + 15
    while any(status.is_active for status in live.look()):
        if time.monotonic() > deadline:
            raise UserError("was asked to stop and still has runs", where=f"sweep {options.name}")
        time.sleep(_LOOK_SECONDS)
    print(f"sweep {options.name}: {counted(live.look())}")
    return Exit.OK


def watch_sweep(options: argparse.Namespace) -> int:
    """Show a sweep until nothing of it runs or waits."""
    sweep = Sweeps(options.output_dir).find(options.name)
    statuses = watch(sweep, options.output_dir)
    print_summary(sweep, statuses, options.output_dir)
    return worst_exit_code(statuses)


def work_on_sweep(options: argparse.Namespace) -> int:
    """Run a submission here, as the process that a detached sweep leaves behind."""
    sweep = Sweeps(options.output_dir).find(options.name)
    launch_here(sweep, options.submission, options.output_dir)
    return Exit.OK


def _wanted(status: PointStatus, failed: str | None) -> bool:
    """``failed``: None: all; empty: those that failed; else those of this class."""
    if failed is None:
        return True
    return status.failure == failed if failed else status.failure is not None
