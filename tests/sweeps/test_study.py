"""The trials of a study, with the real Optuna."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import Trial

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.store.studies import Axis
from mosaic_pipe.sweep.metric import check_metric, metric_of, why_not
from mosaic_pipe.sweep.study import Counts, Study, counts_of
from mosaic_pipe.telemetry.fold import Summary

SPACE = {
    "x": Axis(low=1e-4, high=1.0, log=True),
    "n": Axis(low=1, high=9, step=2, whole=True),
    "c": Axis(choices=("4", "8")),
}


def _open(folder: Path, sampler: str = "tpe") -> Study:
    return Study(folder / "optuna.log", SPACE, "maximize", sampler=sampler, seed=1, pruner=None)


def _value(params: dict[str, Any]) -> float:
    return -float(params["x"]) * int(params["n"])


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_study_cut_short_goes_on_as_it_would_have(tmp_path: Path, sampler: str) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    study, params = _open(whole, sampler), []
    for _ in range(15):
        trial = study.ask()
        study.tell(trial, _value(trial.params), "run")
        params.append(trial.params)
    again = []
    for number in range(15):
        asked = _open(cut, sampler).ask()  # and the process is gone
        study = _open(cut, sampler)
        [trial] = study.open_trials()
        assert (trial.number, trial.params) == (number, asked.params)
        study.tell(trial, _value(trial.params), "run")
        again.append(trial.params)
    assert again == params


def test_a_trial_without_all_parameters_gets_them(tmp_path: Path) -> None:
    study = _open(tmp_path)
    trial = study.ask()
    lines = (tmp_path / "optuna.log").read_text().splitlines(keepends=True)
    (tmp_path / "optuna.log").write_text("".join(lines[:-2]))  # killed while it was asked for
    [found] = _open(tmp_path).open_trials()
    assert found.params["x"] == trial.params["x"]
    assert found.params.keys() == SPACE.keys()


def test_what_is_told_stays(tmp_path: Path) -> None:
    study = _open(tmp_path)
    assert study.best() is None
    good, bad, pruned, _ = (study.ask() for _ in range(4))
    study.tell(good, 3.0, "a")
    study.tell(good, 4.0, "a")  # another process was faster
    study.tell_failed(bad, "user_error: it broke", "b")
    study.tell_pruned(pruned, "c")
    assert counts_of(tmp_path / "optuna.log") == _open(tmp_path).counts() == Counts(done=2, failed=1, open=1)
    assert _open(tmp_path).best() == (0, 3.0)


def test_two_tell_the_same_at_the_same_moment(tmp_path: Path) -> None:
    first, second = _open(tmp_path), _open(tmp_path)
    trials = [[first.ask() for _ in range(40)], second.open_trials()]
    start = threading.Barrier(2)

    def tell(study: Study, trials: Iterable[Trial]) -> None:
        start.wait()
        for trial in trials:
            study.tell(trial, 1.0, "run")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(tell, [first, second], trials))
    assert first.counts() == Counts(done=40)


def test_a_failed_run_that_was_tried_again(tmp_path: Path) -> None:
    study = _open(tmp_path)
    trial = study.ask()
    study.tell_failed(trial, "killed: kill -9", "a")
    [(run_id, failed)] = study.failed_runs().items()
    study.add_value(failed, 5.0, run_id)
    assert study.failed_runs() == {}
    assert study.best() == (1, 5.0)


def test_no_study_is_made_to_count(tmp_path: Path) -> None:
    assert counts_of(tmp_path / "optuna.log") == Counts()
    (tmp_path / "optuna.log").touch()
    assert counts_of(tmp_path / "optuna.log") == Counts()
    assert (tmp_path / "optuna.log").read_bytes() == b""


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    _open(tmp_path).ask()
    with (tmp_path / "optuna.log").open("a") as file:
        file.write('{"op_code":4,"wor')
    _open(tmp_path).ask()
    assert _open(tmp_path).counts().open == 2


def test_the_lock_leads_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna looks at its age through the link: one that leads nowhere would be waited for for ever."""
    links: list[str] = []
    symlink = os.symlink

    def noted(target: str, link: str) -> None:
        links.append(target)
        symlink(target, link)

    monkeypatch.setattr(os, "symlink", noted)
    monkeypatch.chdir(tmp_path)
    _open(Path()).ask()
    assert set(links) == {str(tmp_path / "optuna.log")}


def test_metrics() -> None:
    summary = Summary(env_steps=5, sps=float("nan"), eval={"return_mean": 7, "note": "x", "all": [1, 2]})
    assert metric_of(summary, "env_steps") == 5.0
    assert metric_of(summary, "eval.return_mean") == 7.0
    assert metric_of(summary, "sps") is None
    assert why_not(summary, "sps") == "sps is nan"
    assert metric_of(summary, "episode_return_mean") is None
    known = "env_steps, episodes, eval.return_mean, eval_episodes, sps, wall_time"
    assert why_not(summary, "eval.note") == f"the run has no eval.note; it has {known}"
    check_metric("eval.whatever", "here")
    with pytest.raises(SpecError, match="did you mean 'episode_return_mean'"):
        check_metric("episode_return", "here")
