"""Optuna's part: which point to try next, given what came of the others. Needs the extra ``optuna``.

Trials are asked for and told one by one; nothing of Optuna runs anything. A trial that was asked for and never told
is still there when the study is opened again, with the same parameters, hence the same run.

They are kept in a journal rather than in SQLite: it is only appended to, needs no locks of the file system that NFS
gets wrong, and a person can read it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from mosaic_pipe.store.studies import Axis, Direction, Space

RUN, REASON = "run", "reason"
"""What is noted with a trial: the id of its run, and why it has no value."""

_NAME = "study"

optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True)
class Counts:
    """How many trials there are: ``done`` have a value or were pruned, ``open`` have neither, nor failed."""

    done: int = 0
    failed: int = 0
    open: int = 0


class Study:
    """The trials of a sweep."""

    def __init__(
        self, log_file: Path, space: Space, direction: Direction, *, sampler: str, seed: int | None, pruner: str | None
    ) -> None:
        """Open the study in ``log_file``; made now if there is none.

        Raises:
            OSError: it cannot be written.
        """
        self._space = {key: _distribution(axis) for key, axis in space.items()}
        self._sampler, self._seed = sampler, seed
        self._study = optuna.create_study(
            storage=_storage(log_file),
            study_name=_NAME,
            direction=direction,
            pruner=_pruner(pruner),
            load_if_exists=True,
        )

    def counts(self) -> Counts:
        """How many trials there are by now."""
        return _count(self._trials())

    def has_values(self) -> bool:
        """Whether any trial has a value."""
        return any(trial.state is TrialState.COMPLETE for trial in self._trials())

    def best(self) -> tuple[int, float] | None:
        """Number and value of the best trial; None: no trial has a value."""
        if not self.has_values():
            return None
        best = self._study.best_trial
        assert best.value is not None
        return best.number, best.value

    def last_step(self, trial: Trial) -> int:
        """Up to which step the intermediate values of ``trial`` are known."""
        return self._trials()[trial.number].last_step or 0

    def open_trials(self) -> list[Trial]:
        """Trials that were asked for and not told, oldest first, with all their parameters."""
        # Optuna has no other way to take up a trial of another process than by its id.
        found = ((trial.number, trial._trial_id) for trial in self._trials(TrialState.RUNNING))
        return [self._filled(number, partial(Trial, self._study, id_)) for number, id_ in found]

    def ask(self) -> Trial:
        """The next trial, with all its parameters."""
        return self._filled(len(self._trials()), self._study.ask)

    def tell(self, trial: Trial, value: float, run_id: str) -> None:
        """A trial has ended well."""
        self._note(trial, RUN, run_id)
        self._end(trial, value)

    def tell_failed(self, trial: Trial, reason: str, run_id: str | None) -> None:
        """A trial has ended without a value."""
        self._note(trial, REASON, reason)
        if run_id:
            self._note(trial, RUN, run_id)
        self._end(trial, state=TrialState.FAIL)

    def tell_pruned(self, trial: Trial, run_id: str) -> None:
        """A trial was stopped because others were better at the same step."""
        self._note(trial, RUN, run_id)
        self._end(trial, state=TrialState.PRUNED)

    def failed_runs(self) -> dict[str, FrozenTrial]:
        """Runs of trials that failed, unless there is a trial of the same run that did not."""
        trials = {
            str(trial.user_attrs[RUN]): trial for trial in self._trials(TrialState.FAIL) if RUN in trial.user_attrs
        }
        others = {trial.user_attrs.get(RUN) for trial in self._trials() if trial.state is not TrialState.FAIL}
        return {run_id: trial for run_id, trial in trials.items() if run_id not in others}

    def add_value(self, failed: FrozenTrial, value: float, run_id: str) -> None:
        """The run of a trial that failed was tried again, and ended well: a further trial says so."""
        added = create_trial(
            params=failed.params, distributions=failed.distributions, value=value, user_attrs={RUN: run_id}
        )
        self._study.add_trial(added)

    def _trials(self, *states: TrialState) -> Sequence[FrozenTrial]:
        return self._study.get_trials(deepcopy=False, states=states or None)

    def _filled(self, number: int, make: Callable[[], Trial]) -> Trial:
        """Trial ``number`` with a value for every key; those that it has it keeps."""
        self._study.sampler = _make_sampler(self._sampler, self._seed, number)
        trial = make()
        for key, distribution in self._space.items():
            _suggest(trial, key, distribution)
        return trial

    def _note(self, trial: Trial, key: str, value: str) -> None:
        with contextlib.suppress(UpdateFinishedTrialError):  # another process was faster
            trial.set_user_attr(key, value)

    def _end(self, trial: Trial, value: float | None = None, state: TrialState | None = None) -> None:
        with contextlib.suppress(UpdateFinishedTrialError):  # another process was faster, since Optuna looked
            self._study.tell(trial.number, value, state, skip_if_finished=True)


def counts_of(log_file: Path) -> Counts:
    """How many trials there are in ``log_file``, which need not exist; nothing is made."""
    if not log_file.exists():
        return Counts()
    try:
        study = optuna.load_study(study_name=_NAME, storage=JournalStorage(JournalFileBackend(str(log_file))))
    except KeyError:  # whoever made the file came no further
        return Counts()
    return _count(study.get_trials(deepcopy=False))


def _count(trials: Sequence[FrozenTrial]) -> Counts:
    states = [trial.state for trial in trials]
    open_ = sum(not state.is_finished() for state in states)
    failed = states.count(TrialState.FAIL)
    return Counts(done=len(states) - failed - open_, failed=failed, open=open_)


def _storage(log_file: Path) -> JournalStorage:
    # A relative path would make Optuna's lock a link that leads nowhere: once left behind, waited for for ever.
    path = str(log_file.absolute())
    lock = JournalFileSymlinkLock(path)
    backend = JournalFileBackend(path, lock_obj=lock)
    lock.acquire()
    try:
        _mend(log_file)
    finally:
        lock.release()
    return JournalStorage(backend)


def _mend(log_file: Path) -> None:
    """Cut off a last line that a full disk or a dying machine left unfinished: Optuna would append to it."""
    with log_file.open("r+b") as file:
        content = file.read()
        if not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.choices:
        return CategoricalDistribution(axis.choices)
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=int(axis.step or 1))
    return FloatDistribution(axis.low, axis.high, log=axis.log, step=axis.step)


def _suggest(trial: Trial, key: str, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(key, distribution.choices)
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(key, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    assert isinstance(distribution, FloatDistribution)
    return trial.suggest_float(key, distribution.low, distribution.high, step=distribution.step, log=distribution.log)


def _make_sampler(name: str, seed: int | None, number: int) -> optuna.samplers.BaseSampler:
    """The sampler of trial ``number``: seeded by itself, so that a study cut short goes on as it would have."""
    own = None if seed is None else random.Random(f"{seed} {number}").getrandbits(32)  # noqa: S311
    if name == "random":
        return optuna.samplers.RandomSampler(seed=own)
    return optuna.samplers.TPESampler(seed=own)


def _pruner(name: str | None) -> optuna.pruners.BasePruner:
    if name == "median":
        return optuna.pruners.MedianPruner()
    return optuna.pruners.SuccessiveHalvingPruner() if name == "halving" else optuna.pruners.NopPruner()
