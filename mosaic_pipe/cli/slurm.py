"""A submission to Slurm, as the user sees it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.own import sweep_command
from mosaic_pipe.cli.watching import watch
from mosaic_pipe.launch.preparation import Preparation
from mosaic_pipe.launch.slurm.queue import ASK_SECONDS
from mosaic_pipe.launch.slurm.submission import SlurmSettings, Submitted, submit
from mosaic_pipe.store.sweeps import Submission, Sweep


def launch_on_slurm(sweep: Sweep, submission: Submission, output_dir: Path) -> None:
    """Submit the points that ``submission`` is to run; wait for them where it says so.

    Raises:
        UserError: the cluster does not take them.
    """
    preparation, points = Preparation(show_notice), sweep.points()
    left = [preparation.prepare(points[digest].spec) for digest in submission.todo]
    settings = _settings(submission)
    blocks = submission.settings["detach"] is False
    while left:
        done = submit(left, sweep, output_dir, settings)
        _tell(done, sweep, output_dir)
        left = list(done.left)
        if not blocks:
            break
        if left:
            time.sleep(ASK_SECONDS)
    if blocks:
        watch(sweep, output_dir)


def _settings(submission: Submission) -> SlurmSettings:
    ours = {key: value for key, value in submission.settings.items() if key not in ("detach", "fail_fast")}
    try:
        return msgspec.convert(ours, SlurmSettings)
    except msgspec.ValidationError as error:
        raise SpecError(str(error), where="hydra.launcher") from error


def _tell(done: Submitted, sweep: Sweep, output_dir: Path) -> None:
    show_notice(f"sweep {sweep.name}: {done.points} jobs submitted in {done.arrays} arrays")
    if done.left:
        show_notice(f"  {len(done.left)} are not: {done.why}")
        show_notice(f"  later: {sweep_command('retry', sweep.name, output_dir)}")
    sys.stderr.flush()
