"""Virtualenvs of workers: made once, whole or not at all, without a network when they are there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import psutil
import pytest
from machine import RANDOM_WORKER, Machine

from mosaic_pipe.base.errors import WorkerEnvironmentError
from mosaic_pipe.workers.capabilities import read_capabilities
from mosaic_pipe.workers.environment import ensure_environment
from mosaic_pipe.workers.recipe import Recipe, environments_dir
from mosaic_pipe.workers.registry import Worker

RANDOM = ["worker=random", "algo=random", "env=cartpole", "total_timesteps=300"]
WITHOUT_NETWORK = ["unshare", "--net", "--map-root-user"]


@pytest.fixture
def fresh(machine: Machine, tmp_path: Path) -> Machine:
    """A machine on which no worker was used yet."""
    machine.variables["MOSAIC_HOME"] = str(tmp_path / "home")
    return machine


def environments(machine: Machine) -> list[Path]:
    return [path for path in (Path(machine.variables["MOSAIC_HOME"]) / "envs").iterdir() if path.is_dir()]


def test_first_use_installs_and_later_use_needs_no_network(fresh: Machine) -> None:
    fresh.run(*RANDOM)
    assert "installing the environment of random (once)" in fresh.stderr
    assert "+ gymnasium==1.2.2" in fresh.stderr  # uv's own report
    fresh.run(*RANDOM, prefix=WITHOUT_NETWORK)
    assert "installing" not in fresh.stderr
    assert len(environments(fresh)) == 1


def test_two_processes_that_want_it_at_once(fresh: Machine) -> None:
    both = [fresh.start(*RANDOM, f"seed={seed}") for seed in (1, 2)]
    said = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted("waiting for it" in text for text in said) == [False, True]
    assert len(environments(fresh)) == 1


def test_an_interrupted_install_is_made_again(fresh: Machine) -> None:
    started = fresh.start("workers", "install", "random")
    fresh.wait_for(lambda: list(environments(fresh)[0].glob("lib/python*/site-packages/*")))
    started.kill()
    started.communicate()
    (row,) = [row for row in json.loads(fresh.run("workers", "ls", "--json")) if row["worker"] == "random"]
    assert not row["installed"]
    time.sleep(0.5)
    assert not _uv_processes(environments(fresh)[0])  # none goes on writing into it
    fresh.run(*RANDOM)


def _uv_processes(path: Path) -> list[str]:
    commands = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [command for command in commands if "uv" in command.partition(" ")[0] and str(path) in command]


def test_ctrl_c_while_installing_leaves_nothing_half_made(fresh: Machine) -> None:
    started = fresh.start("workers", "install", "random")
    fresh.wait_for(lambda: environments(fresh))
    os.killpg(started.pid, signal.SIGINT)
    assert started.wait(30) == 130
    assert "Traceback" not in started.communicate()[1]
    assert environments(fresh) == []


def test_an_install_that_fails_says_so(fresh: Machine) -> None:
    fresh.variables["UV_NO_CACHE"] = "1"
    fresh.run("workers", "install", "random", expect=3, prefix=WITHOUT_NETWORK)
    assert "uv pip failed" in fresh.stderr
    assert "Traceback" not in fresh.stderr
    assert environments(fresh) == []


def test_sources_that_change_while_they_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    project = shutil.copytree(RANDOM_WORKER, tmp_path / "random_worker")
    package = project / "random_worker"
    capabilities = read_capabilities(package / "capabilities.json")
    recipe = Recipe(Worker("random", package, str(project), ">=3.10", capabilities))

    def edit(said: str) -> None:
        (package / "faults.py").write_text("")

    with pytest.raises(WorkerEnvironmentError, match="the sources of random changed while it was being installed"):
        ensure_environment(recipe, edit)
    assert [path for path in environments_dir().iterdir() if path.is_dir()] == []


def test_remove_and_doctor(fresh: Machine) -> None:
    python = Path(json.loads(fresh.run("workers", "install", "random", "--json"))["python"])
    assert "ok   worker random:" in fresh.run("workers", "doctor")
    fresh.run("workers", "install", "random", "--torch-backend", "cpu", expect=2)
    assert "is installed already" in fresh.stderr
    kit = next(python.parent.parent.glob("lib/python*/site-packages/mosaic_worker/cli.py"))
    kit.write_text("broken(")
    assert "BAD  worker random: " in fresh.run("workers", "doctor", expect=3)
    assert fresh.run("workers", "remove", "random").startswith("removed ")
    assert environments(fresh) == []
    assert "has no virtualenv" in fresh.run("workers", "remove", "random")
    fresh.run("workers", "remove", "randm", expect=2)
    assert "did you mean 'random'?" in fresh.stderr


def test_an_environment_in_use_is_not_removed(machine: Machine) -> None:
    started = machine.start(*RANDOM, "total_timesteps=100000000")
    run_id = machine.wait_for_training([])
    machine.run("workers", "remove", "random", expect=2)
    assert "is running in it" in machine.stderr
    machine.run("runs", "cancel", run_id)
    started.communicate()


def test_a_broken_worker_harms_no_other(machine: Machine, tmp_path: Path) -> None:
    info = tmp_path / "site" / "broken_worker-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: broken-worker\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mosaic.workers]\nbroken = broken_worker:get\nlost = no_such_package:get\n")
    package = tmp_path / "site" / "broken_worker"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('executed')")
    (package / "capabilities.json").write_text('{"schema_version": 1}')
    machine.variables["PYTHONPATH"] = str(tmp_path / "site")
    machine.run(*RANDOM)
    machine.run("worker.name=broken", expect=2)
    assert "not a description of a worker: Object missing required field" in machine.stderr
    machine.run("worker.name=lost", expect=2)
    assert "'no_such_package:get' names no package" in machine.stderr
    said = machine.run("workers", "doctor", expect=3)
    assert "BAD  worker broken:" in said
    assert "BAD  worker lost:" in said


def test_a_home_that_cannot_be_written(fresh: Machine) -> None:
    fresh.variables["MOSAIC_HOME"] = "/proc/nowhere"
    fresh.run(*RANDOM, expect=3)
    assert "/proc/nowhere" in fresh.stderr
    assert "Traceback" not in fresh.stderr


def test_an_interpreter_that_the_user_made(fresh: Machine, stranger: Path) -> None:
    """Its library is the user's; the kit and the worker come from here."""
    theirs = json.loads(
        Machine(stranger / "venv", stranger / "home", fresh.folder).run("workers", "install", "random", "--json")
    )
    fresh.run(*RANDOM, f"worker.python={theirs['python']}")
    assert fresh.manifest()["provenance"]["environment"] == "user"
    assert "gymnasium==1.2.2" in (fresh.run_dir() / "packages.txt").read_text()
    fresh.run(*RANDOM, f"worker.python={os.path.relpath(theirs['python'], fresh.folder)}")  # a relative path too
    fresh.run(*RANDOM, f"worker.python={stranger / 'venv' / 'bin' / 'python'}", expect=1)
    assert "No module named 'gymnasium'" in fresh.stderr
