"""Programs that know nothing of frames, started as a worker's processes are, and filmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from audience import HERE, Stage
from machine import Machine
from mosaic_worker import fastlane

SITE = str(Path(fastlane.__file__).parent / "site")


def test_the_interpreter_s_own_sitecustomize_runs_too_and_little_else(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('own')")
    program = "import sys, sitecustomize; print(sitecustomize.__file__, 'numpy' in sys.modules, 'mmap' in sys.modules)"
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([SITE, str(tmp_path)])}
    done = subprocess.run([sys.executable, "-c", program], env=path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["own", str(tmp_path / "sitecustomize.py"), "False", "False"]
    assert done.stderr == ""


@pytest.fixture(scope="module")
def python(make_machine: object, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of a worker that has Gymnasium and PettingZoo."""
    machine: Machine = make_machine(tmp_path_factory.mktemp("hooks"))  # type: ignore[operator]
    found: str = json.loads(machine.run("workers", "install", "xuance", "--json"))["python"]
    return found


@pytest.mark.parametrize(
    ("how", "lanes"), [("fork", 2), ("spawn", 2), ("vector_entry_point", 2), ("parallel", 1), ("turns", 1)]
)
def test_what_a_program_makes_is_filmed(stage: Stage, python: str, how: str, lanes: int) -> None:
    stage.start(python, "-W", "ignore", str(HERE / "cast.py"), how, variables={"PYTHONPATH": SITE})
    seen = stage.audience.seen
    stage.audience.watch_until(lambda: all(len({f.pixels for f in seen[lane]}) >= 3 for lane in range(lanes)))
    assert stage.audience.claimed() == list(range(lanes))
    for lane in range(lanes):
        assert seen[lane][0].label == ("simple_spread_v3" if how in ("parallel", "turns") else "CartPole-v1")


def test_without_a_segment_nothing_is_touched(python: str) -> None:
    program = "import gymnasium; env = gymnasium.make('CartPole-v1'); print(type(env).__mro__[1], env.render_mode)"
    variables = {key: value for key, value in os.environ.items() if key != "MOSAIC_FASTLANE"}
    command = [python, "-W", "ignore", "-c", program]
    done = subprocess.run(command, env={**variables, "PYTHONPATH": SITE}, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0].endswith(" None")
    assert "gymnasium.core.Wrapper" in done.stdout
