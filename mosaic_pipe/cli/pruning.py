"""Stopping trials that are worse than others at the same step, wherever they run: manifests say how far they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from optuna.trial import Trial

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State
from mosaic_pipe.store.studies import StudyDir
from mosaic_pipe.sweep.metric import metric_of
from mosaic_pipe.sweep.study import Study

_LOOK_SECONDS = 2.0


class Pruning:
    """Looks at the trials that a launcher runs meanwhile."""

    def __init__(self, study: Study, trials: Mapping[str, Trial], directory: StudyDir, runs: Runs, metric: str) -> None:
        """``trials``: by the ids of their runs."""
        self._trials, self._directory, self._runs, self._metric = trials, directory, runs, metric
        self._reported = {run_id: study.last_step(trial) for run_id, trial in trials.items()}
        self._over = threading.Event()

    @contextmanager
    def every(self, interval: int | None) -> Iterator[None]:
        """Prune meanwhile, at multiples of ``interval`` environment steps, or updates; None: don't."""
        thread = threading.Thread(target=self._look_on, args=(interval,), daemon=True)
        if interval:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            if interval:
                thread.join()

    def _look_on(self, interval: int) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            for run_id, trial in self._trials.items():
                self._look(run_id, trial, interval)

    def _look(self, run_id: str, trial: Trial, interval: int) -> None:
        run = self._runs.new(run_id)
        try:
            manifest = run.read_manifest()
        except UserError:  # not begun
            return
        step = manifest.summary.progress // interval * interval
        value = metric_of(manifest.summary, self._metric)
        if manifest.state is not State.RUNNING or step <= self._reported[run_id] or value is None:
            return
        trial.report(value, step)
        self._reported[run_id] = step
        if trial.should_prune():
            self._directory.mark_pruned(run_id)
            run.stop_file(manifest.attempts[-1].number).touch()
