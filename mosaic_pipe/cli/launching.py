"""From a submission on record to its runs: here, in the background, or on Slurm."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.own import sweep_command
from mosaic_pipe.cli.specs import launcher_settings
from mosaic_pipe.cli.sweep_display import SweepDisplay
from mosaic_pipe.launch.local import LocalLauncher, LocalSettings
from mosaic_pipe.launch.machine import Machine
from mosaic_pipe.launch.preparation import Preparation, Prepared
from mosaic_pipe.store.sweeps import Sweep
from mosaic_pipe.sweep.plan import Plan

_LOOK_SECONDS = 0.05


def launch(sweep: Sweep, name: str, output_dir: Path, *, quiet: bool = False) -> None:
    """Run what the submission ``name`` of ``sweep`` set out to run, as it says.

    Args:
        sweep: whose.
        name: of the submission.
        output_dir: where runs are.
        quiet: no line for each run that ends well.

    Raises:
        UserError: it could not be started.
    """
    submission = sweep.submission(name)
    if submission.launcher == "slurm":
        from mosaic_pipe.cli.slurm import launch_on_slurm

        launch_on_slurm(sweep, submission, output_dir)
    elif submission.settings["detach"]:
        _launch_detached(sweep, name, output_dir)
    else:
        launch_here(sweep, name, output_dir, quiet=quiet)


def launch_here(sweep: Sweep, name: str, output_dir: Path, *, quiet: bool = False) -> None:
    """Run the points on this machine, until all have ended or somebody asks to stop.

    Raises:
        UserError: a point asks for more than this machine has, or a disk takes nothing more.
    """
    submission, preparation, points = sweep.submission(name), Preparation(show_notice), sweep.points()
    prepared = [preparation.prepare(points[digest].spec) for digest in submission.todo if digest in points]
    settings = _local_settings(submission.settings)
    with SweepDisplay(sweep.name, len(prepared), quiet=quiet) as display, sweep.launcher(name) as stop_file:
        LocalLauncher(prepared, output_dir, settings, display.show).run(stop_file)


def check_settings(kind: str, settings: dict[str, Any]) -> None:
    """Refuse what a launcher does not take, before anything is on record.

    Raises:
        SpecError: an unknown key, a wrong type, or what only the other launcher can do.
    """
    if kind == "slurm":
        from mosaic_pipe.cli.slurm import slurm_settings

        slurm_settings(settings)
    else:
        _local_settings(settings)


def check_room(prepared: Iterable[Prepared]) -> None:
    """Refuse what this machine will never have room for.

    Raises:
        SpecError: a point asks for more than there is.
    """
    machine = Machine()
    for point in prepared:
        machine.check(point.spec.resources, point.memory_mb)


def machine_slots(kind: str, settings: dict[str, Any], plan: Plan) -> int | None:
    """How many cores the points of ``plan`` will use at once; None: the scheduler decides."""
    if kind != "local":
        return None
    cores, n_jobs = len(Machine().cores), settings.get("n_jobs")
    most = max((spec.resources.cpus for _, _, spec in plan.missing), default=1)
    return cores if n_jobs is None else min(cores, n_jobs * most)


def _local_settings(settings: dict[str, Any]) -> LocalSettings:
    return launcher_settings({key: value for key, value in settings.items() if key != "detach"}, LocalSettings)


def _launch_detached(sweep: Sweep, name: str, output_dir: Path) -> None:
    """The same in a process that outlives this terminal."""
    log = sweep.path / "submissions" / f"{name}.log"
    command = [sys.executable, "-m", "mosaic_pipe.cli.main", "sweep", "work", sweep.name, name]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*command, "--output-dir", str(output_dir)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    while not any(launcher.submission == name for launcher in sweep.launchers().values()):
        if process.poll() is not None:
            break
        time.sleep(_LOOK_SECONDS)
    if process.returncode:
        raise UserError(f"ended at once:\n{log.read_text(encoding='utf-8')}", where="the detached launcher")
    show_notice(f"detached: {sweep_command('watch', sweep.name, output_dir)}\nlog: {shlex.quote(str(log))}")
