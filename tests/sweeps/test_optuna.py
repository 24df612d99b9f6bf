"""Studies as a user runs them: ``hydra/sweeper=optuna`` on a stranger's machine, with the real Optuna."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import optuna
import pytest
from machine import Machine, kill
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

RANDOM = ("worker=random", "algo=random", "env=cartpole", "total_timesteps=200")
STUDY = ("-m", "hydra/sweeper=optuna", *RANDOM, "sweep=tune")
SPACE = ("seed=int(interval(1,1000))", "+algo.native.step_seconds=interval(0.0,0.0005)")
SLOW = ("seed=int(interval(1,1000))", "+algo.native.step_seconds=interval(0.015,0.02)", "checkpoint.interval=20")


@pytest.fixture(autouse=True)
def own_cores(machine: Machine) -> None:
    """Cores are shared with other launchers of this machine, which may hold them for long."""
    (machine.folder / "tmp").mkdir()
    machine.variables["TMPDIR"] = str(machine.folder / "tmp")


def _set(**settings: Any) -> list[str]:
    return [f"hydra.sweeper.{key}={value}" for key, value in settings.items()]


def _trials(machine: Machine, name: str = "tune") -> list[optuna.trial.FrozenTrial]:
    log = machine.outputs / "sweeps" / name / "study" / "optuna.log"
    return optuna.load_study(study_name="study", storage=JournalStorage(JournalFileBackend(str(log)))).trials


def _status(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.run("sweep", "status", "tune", "--json"))
    return found


def _states(machine: Machine) -> list[TrialState]:
    return [trial.state for trial in _trials(machine)]


def test_a_study_and_more_of_it(machine: Machine) -> None:
    planned = machine.run("plan", *STUDY[1:], *SPACE, *_set(n_trials=3))
    assert "maximize episode_return_mean (tpe, 2 at a time): 0 of 3 trials done" in planned
    assert "  seed: whole numbers from 1 to 1000\n" in planned
    assert not machine.outputs.exists()

    shown = machine.run(*STUDY, *SPACE, *_set(n_trials=3))
    assert machine.stderr.count("\n3/3  trial 2: ") == 1
    trials = _trials(machine)
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 3
    for trial in trials:
        manifest = machine.manifest(trial.user_attrs["run"])
        assert trial.value == manifest["summary"]["episode_return_mean"]
        assert trial.params["seed"] == manifest["spec"]["seed"]
    best = max(trials, key=lambda trial: trial.value or 0.0)
    assert f"best: episode_return_mean {best.value:.6g}\n  seed={best.params['seed']}\n" in shown
    assert f"runs show {best.user_attrs['run']}" in shown

    assert machine.run(*STUDY, *SPACE, *_set(n_trials=3)) == shown
    assert "3 of 3 trials done" in machine.stderr
    assert len(machine.run_ids()) == 3

    machine.run(*STUDY, *SPACE, *_set(n_trials=5, n_jobs=1))
    assert [trial.params for trial in _trials(machine)[:3]] == [trial.params for trial in trials]
    assert len(machine.run_ids()) == len(_trials(machine)) == 5
    status = _status(machine)
    assert (status["metric"], status["direction"]) == ("episode_return_mean", "maximize")
    assert sorted(point["value"] for point in status["points"]) == sorted(t.value or 0 for t in _trials(machine))
    assert re.search(r" seed=\d+ \+algo.native.step_seconds=0.000\d+ +01", machine.run("sweep", "status", "tune"))


def test_killed_in_the_middle(machine: Machine, tmp_path: Path) -> None:
    arguments = [*STUDY, *SLOW, *_set(n_trials=4)]
    process = machine.start(*arguments)
    machine.wait_for(lambda: _states(machine).count(TrialState.COMPLETE) == 2)
    done = [trial.user_attrs["run"] for trial in _trials(machine)[:2]]
    killed = machine.wait_for(
        lambda: [run for run in machine.run_ids() if run not in done and machine.manifest(run)["checkpoints"]]
    )
    kill(process.pid)
    process.wait()
    begun = _trials(machine)
    assert [trial.state for trial in begun] == [TrialState.COMPLETE] * 2 + [TrialState.RUNNING] * 2
    assert "2 of 4 trials done, 2 to be taken up" in machine.run("plan", *arguments[1:])

    machine.run(*arguments)
    trials = _trials(machine)
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 4
    assert [trial.params for trial in trials] == [trial.params for trial in begun]
    assert sorted(machine.run_ids()) == sorted(trial.user_attrs["run"] for trial in trials)
    for run in killed:
        attempts = machine.manifest(run)["attempts"]
        assert [attempt["state"] for attempt in attempts] == ["FAILED", "COMPLETED"]
        assert attempts[1]["resumed_at"] > 0
    assert all(len(machine.manifest(run)["attempts"]) == 1 for run in done)

    machine.run(*arguments, f"output_dir={tmp_path / 'other'}")
    other = Machine(machine.venv, tmp_path, tmp_path)
    other.outputs = tmp_path / "other"
    assert [trial.params for trial in _trials(other)] == [trial.params for trial in trials]


def test_two_at_once(machine: Machine) -> None:
    """Neither runs what the other runs, and both end with all results."""
    processes = [machine.start(*STUDY, *SLOW, *_set(n_trials=4)) for _ in range(2)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    assert {TrialState.COMPLETE} == set(_states(machine))
    for run in machine.run_ids():
        assert [attempt["state"] for attempt in machine.manifest(run)["attempts"]] == ["COMPLETED"]


@pytest.mark.parametrize("way", ["interrupt", "cancel"])
def test_stopped_and_gone_on_with(machine: Machine, way: str) -> None:
    arguments = [*STUDY, *SLOW, *_set(n_trials=3)]
    process = machine.start(*arguments)
    machine.wait_for_training([])
    if way == "interrupt":
        process.send_signal(signal.SIGINT)
    else:
        machine.run("sweep", "cancel", "tune")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "taken up by the same command" in err
    assert _states(machine) == [TrialState.RUNNING] * 2
    machine.run(*arguments)
    assert _states(machine) == [TrialState.COMPLETE] * 3


def test_runs_that_fail(machine: Machine) -> None:
    space = ("seed=range(1,1000)", "+algo.native.misbehave=choice(crash,metrics)")
    machine.run(*STUDY, *space, *_set(n_trials=4, sampler="random"), expect=1)
    trials = _trials(machine)
    assert len(trials) == 4  # a trial that fails is not replaced by the same command
    for trial in trials:
        broken = trial.params["+algo.native.misbehave"] == "crash"
        assert trial.state is (TrialState.FAIL if broken else TrialState.COMPLETE)
        assert machine.manifest(trial.user_attrs["run"])["state"] == ("FAILED" if broken else "COMPLETED")
        if broken:
            assert trial.user_attrs["reason"].startswith("user_error: RuntimeError: the library broke")
    done = sum(trial.state is TrialState.COMPLETE for trial in trials)
    assert 0 < done < 4
    assert "user_error" in machine.run("sweep", "status", "tune")
    machine.run(*STUDY, *space, *_set(n_trials=4, sampler="random"), expect=None)
    assert len(_trials(machine)) == 4 + (4 - done)


def test_a_metric_that_no_run_has(machine: Machine) -> None:
    machine.run(*STUDY, *SPACE, *_set(n_trials=9, metric="eval.return_mean"), expect=1)
    assert "the run has no eval.return_mean; it has env_steps, episode_length_mean" in machine.stderr
    assert [trial.state for trial in _trials(machine)] == [TrialState.FAIL] * 2


def test_smaller_is_better(machine: Machine) -> None:
    shown = machine.run(*STUDY, *SPACE, *_set(n_trials=2, metric="episode_length_mean", direction="minimize"))
    assert f"best: episode_length_mean {min(trial.value or 0 for trial in _trials(machine)):.6g}" in shown


def test_points_that_are_refused(machine: Machine) -> None:
    space = ("seed=range(1,1000)", "total_timesteps=choice(200,-1)")
    command = [*STUDY, *space, *_set(n_trials=4, sampler="random", n_jobs=4)]
    machine.run(*command, expect=2)
    assert "skip_refused=true leaves them out" in machine.stderr
    assert machine.run_ids() == []
    machine.run(*command, "skip_refused=true")
    trials = _trials(machine)
    reasons = {trial.user_attrs["reason"].partition(":")[0] for trial in trials if trial.state is TrialState.FAIL}
    assert (len(trials), reasons) == (4, {"refused"})


def test_pruning(machine: Machine) -> None:
    """Five trials end, the sixth takes longer to the same step and is stopped there."""
    pause = "+algo.native.step_seconds"
    space = ("seed=range(1,1000)", f"{pause}=choice(0.03,0.1)", "checkpoint.interval=10", "checkpoint.keep=99")
    sampler = _set(sampler="random", seed=175)  # which draws the longer pause for the sixth
    pruner = _set(pruner="median", report_interval=100, metric="wall_time", direction="minimize")
    command = [*STUDY, *space, *sampler, *pruner]
    machine.run(*command, *_set(n_trials=6, n_jobs=5))
    trials = _trials(machine)
    assert [trial.params[pause] for trial in trials] == ["0.03"] * 5 + ["0.1"]
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 5 + [TrialState.PRUNED]
    assert list(trials[5].intermediate_values) == [100]
    stopped = machine.manifest(trials[5].user_attrs["run"])
    assert stopped["state"] == "CANCELLED"
    assert 100 <= stopped["summary"]["env_steps"] < 200
    assert "5 completed, 1 pruned" in machine.run("sweep", "status", "tune")
    machine.run(*command, *_set(n_trials=6))
    assert "6 of 6 trials done" in machine.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "there is nothing to optimise"),
        ((*SPACE, "detach=true"), "detach: an optimiser waits for results"),
        ((*SPACE, "hydra.sweeper.zip=[seed,env]"), "hydra.sweeper.zip: the chosen hydra/sweeper has no such key"),
        ((*SPACE, "hydra.sweeper.metric=return"), "there is no metric 'return'"),
        ((*SPACE, "hydra.sweeper.direction=up"), "valid: maximize, minimize"),
        ((*SPACE, "hydra.sweeper.n_trials=0"), "hydra.sweeper.n_trials: expected `int` >= 1"),
        ((*SPACE, "hydra/launcher=basic"), "hydra/launcher: hydra/sweeper=optuna needs local or slurm"),
        (("seed=interval(1,9)",), "for whole numbers: seed=int(interval(1,9))"),
        (("sede=range(1,9)",), "did you mean 'seed'?"),
        (("env=glob(nothing*)",), "env=glob(nothing*): matches nothing"),
        ((*SPACE, "fail_fast=true,false"), "fail_fast: holds for a whole sweep"),
    ],
)
def test_refusals(machine: Machine, arguments: tuple[str, ...], told: str) -> None:
    machine.run(*STUDY, *arguments, expect=2)
    assert told in machine.stderr
    assert not machine.outputs.exists()


def test_another_study_of_the_same_name(machine: Machine) -> None:
    machine.run(*STUDY, *SPACE, *_set(n_trials=1))
    for changed, told in [
        (("seed=range(1,3)",), "seed: whole numbers from 1 to 1000, now whole numbers from 1 to 2"),
        ((*SPACE, "total_timesteps=300"), "total_timesteps: 200, now 300"),
        ((*SPACE, *_set(metric="sps")), "metric: episode_return_mean, now sps"),
        ((*SPACE, *_set(direction="minimize")), "direction: maximize, now minimize"),
    ]:
        machine.run(*STUDY, *changed, expect=2)
        assert told in machine.stderr
        assert "sweep=NAME begins another study" in machine.stderr
    assert len(_trials(machine)) == 1


def test_without_optuna(machine: Machine) -> None:
    (machine.folder / "sitecustomize.py").write_text("import sys; sys.modules['optuna'] = None\n")
    machine.variables["PYTHONPATH"] = str(machine.folder)
    machine.run(*STUDY, *SPACE, expect=2)
    assert "pip install 'mosaic-pipe[optuna]'" in machine.stderr


def test_a_space_from_a_config(machine: Machine) -> None:
    folder = machine.folder / "conf" / "hydra" / "sweeper"
    folder.mkdir(parents=True)
    text = "defaults: [optuna]\nn_trials: 2\nparams:\n  seed: range(1,9)\n  env: choice(cartpole,acrobot)\n"
    (folder / "mine.yaml").write_text(text)
    command = ("--config-dir", "conf", "-m", "hydra/sweeper=mine", *RANDOM[:2], RANDOM[3])
    machine.run(*command, "env=cartpole", *_set(metric="env_steps"))
    [name] = [path.name for path in (machine.outputs / "sweeps").iterdir()]
    assert name.startswith("seed-env-")
    assert [trial.params.keys() for trial in _trials(machine, name)] == [{"seed": 0}.keys()] * 2
