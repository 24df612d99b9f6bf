"""A submission to Slurm, as the user sees it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.own import sweep_command
from mosaic_pipe.cli.specs import launcher_settings
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
    settings = slurm_settings(submission.settings)
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


def slurm_settings(settings: dict[str, Any]) -> SlurmSettings:
    """The launcher's configuration, of a submission's ``settings``.

    Raises:
        SpecError: it is not what the launcher takes.
    """
    if settings["fail_fast"]:
        hint = "leave it out, and stop the others with: mosaic-pipe sweep cancel NAME"
        raise SpecError("jobs on Slurm know nothing of each other", where="fail_fast", hint=hint)
    ours = {key: value for key, value in settings.items() if key not in ("detach", "fail_fast")}
    return launcher_settings(ours, SlurmSettings)


def _tell(done: Submitted, sweep: Sweep, output_dir: Path) -> None:
    show_notice(f"sweep {sweep.name}: {done.points} jobs submitted in {done.arrays} arrays")
    if done.left:
        show_notice(f"  {len(done.left)} are not: {done.why}")
        show_notice(f"  later: {sweep_command('retry', sweep.name, output_dir)}")
