"""A study while it goes on: trials are asked for, run side by side, and their results told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_worker.protocol import Failure
from optuna.trial import Trial

from mosaic_pipe.base.errors import Exit
from mosaic_pipe.cli.foreground import exit_code
from mosaic_pipe.cli.live_sweep import LiveSweep
from mosaic_pipe.cli.multirun import Asked, SweepLauncher
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.pruning import Pruning
from mosaic_pipe.cli.search_space import space_overrides
from mosaic_pipe.cli.specs import Call
from mosaic_pipe.cli.sweep_tables import print_summary
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.states import State
from mosaic_pipe.store.studies import Definition, StudyDir
from mosaic_pipe.store.sweeps import Sweep
from mosaic_pipe.sweep.metric import metric_of, why_not
from mosaic_pipe.sweep.status import PointStatus
from mosaic_pipe.sweep.study import Study

if TYPE_CHECKING:
    from mosaic_pipe.cli.optuna_sweeper import Settings

_LOOK_SECONDS = 1.0
_TRIAL_IS_TO_BLAME = (State.FAILED, State.TIMED_OUT)


class Optimization:
    """One command's work on a study."""

    def __init__(
        self,
        launcher: SweepLauncher,
        sweep: Sweep,
        definition: Definition,
        settings: Settings,
        constants: Sequence[str],
        call: Call,
    ) -> None:
        """``constants``: the overrides that all trials have in common."""
        self._launcher, self._sweep, self._definition, self._settings = launcher, sweep, definition, settings
        self._constants, self._call = constants, call
        self._dir = StudyDir(sweep.path)
        self._study = Study(
            self._dir.log_file,
            definition.space,
            definition.direction,
            sampler=settings.sampler,
            seed=settings.seed,
            pruner=settings.pruner,
        )
        self._live = LiveSweep(sweep, call.runs)
        self._codes = {Exit.OK}
        self._why_stop = ""

    def run(self) -> int:
        """Run trials until as many are done as are wanted, or somebody asks to stop; returns the exit code.

        A trial that fails is not replaced: this command begins at most as many as were missing.

        Raises:
            UserError: points are refused, or could not be started.
        """
        self._catch_up()
        counts = self._study.counts()
        self._to_ask = self._settings.n_trials - counts.done - counts.open
        with self._sweep.launcher(self._launcher.enlist(self._sweep, self._call)) as stop_file:
            while not self._why_stop and not stop_file.exists() and (trials := self._next()):
                self._run_trials(trials, stop_file)
        if self._why_stop:
            show_notice(f"the study stops: {self._why_stop}")
        print_summary(self._sweep, self._live.look(), Path(self._call.output_dir))
        if self._call.fail_fast and Exit.RUN_FAILED in self._codes:  # what was cancelled was so because of that
            self._codes.discard(Exit.CANCELLED)
        return max(self._codes)

    def _catch_up(self) -> None:
        """Runs of trials that failed may have been tried again since."""
        failed = self._study.failed_runs()
        for status in self._live.look() if failed else ():
            trial, manifest = failed.get(status.point.run_id), status.manifest
            if trial and manifest and manifest.state is State.COMPLETED:
                value = metric_of(manifest.summary, self._definition.metric)
                if value is not None:
                    self._study.add_value(trial, value, manifest.run_id)

    def _next(self) -> list[Trial]:
        """Trials that were begun and have no result, then new ones."""
        trials = self._study.open_trials()[: self._settings.n_jobs]
        while len(trials) < self._settings.n_jobs and self._to_ask > 0:
            self._to_ask -= 1
            trials.append(self._study.ask())
        return trials

    def _run_trials(self, trials: Sequence[Trial], stop_file: Path) -> None:
        points = [(*self._constants, *space_overrides(self._definition.space, trial.params)) for trial in trials]
        asked = self._launcher.ask(points)
        run_ids = {overrides: self._sweep.point(overrides, spec).run_id for overrides, spec in asked.points}
        by_run = {run_ids[point]: trial for point, trial in zip(points, trials, strict=True) if point in run_ids}
        todo = [(point, spec) for point, spec in asked.points if not self._dir.is_pruned(run_ids[point])]
        pruning = Pruning(self._study, by_run, self._dir, self._call.runs, self._definition.metric)
        with pruning.every(self._settings.report_interval if self._settings.pruner else None):
            if todo:
                self._launcher.run_batch(self._live, Asked(asked.call, todo, {}))
            statuses = self._ended(set(run_ids.values()), stop_file)
        told = []
        for point, trial in zip(points, trials, strict=True):
            if point in run_ids:
                result = self._tell(trial, statuses[run_ids[point]])
            else:
                result = self._fail(trial, f"refused: {asked.refused[point]}", None)
            told.append(f"trial {trial.number}: {result}")
        self._report(told)

    def _ended(self, run_ids: set[str], stop_file: Path) -> dict[str, PointStatus]:
        """The points of these runs, when nobody works on them any more."""
        waiting = False
        while True:
            found = {one.point.run_id: one for one in self._live.look() if one.point.run_id in run_ids}
            active = [run_id for run_id, one in found.items() if one.is_active]
            if not active or stop_file.exists():
                return found
            if not waiting:
                show_notice(f"waiting for runs that another process looks after: {', '.join(active)}")
            waiting = True
            time.sleep(_LOOK_SECONDS)

    def _tell(self, trial: Trial, status: PointStatus) -> str:
        """Tell the study what came of ``trial``; returns it in words."""
        manifest, run_id = status.manifest, status.point.run_id
        if manifest and status.state == State.COMPLETED:
            return self._tell_value(trial, manifest)
        if self._dir.is_pruned(run_id):
            self._study.tell_pruned(trial, run_id)
            return "pruned"
        if manifest and status.failure != Failure.DISK_FULL and status.state in _TRIAL_IS_TO_BLAME:
            self._codes.add(exit_code(manifest))
            if self._call.fail_fast:
                self._why_stop = "a trial failed (fail_fast)"
            return self._fail(trial, f"{status.failure}: {manifest.failure.reason}" if manifest.failure else "", run_id)
        ended = manifest is not None and manifest.state.is_final
        self._codes.add(exit_code(manifest) if manifest and ended else Exit.CANCELLED)
        self._why_stop = self._why_stop or "trials that did not come to an end are taken up by the same command"
        return status.state.lower()

    def _tell_value(self, trial: Trial, manifest: Manifest) -> str:
        value = metric_of(manifest.summary, self._definition.metric)
        if value is not None:
            self._study.tell(trial, value, manifest.run_id)
            return f"{value:.6g}"
        self._codes.add(Exit.RUN_FAILED)
        reason = why_not(manifest.summary, self._definition.metric)
        if not self._study.has_values():  # then every trial may be in vain
            self._why_stop = f"{reason} (hydra.sweeper.metric), and no trial before had one"
        return self._fail(trial, reason, manifest.run_id)

    def _fail(self, trial: Trial, reason: str, run_id: str | None) -> str:
        self._study.tell_failed(trial, reason, run_id)
        return f"failed ({reason})"

    def _report(self, told: Sequence[str]) -> None:
        best = self._study.best()
        words = f"; best {best[1]:.6g} (trial {best[0]})" if best else ""
        show_notice(f"{self._study.counts().done}/{self._settings.n_trials}  {', '.join(told)}{words}")
