"""The kit runs on Python 3.8: its syntax here, its imports by a Python 3.8 where uv finds one."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from machine import REPOSITORY
from mosaic_worker.protocol import ENV_FASTLANE
from ulid import ULID
from uv import find_uv_bin

from mosaic_pipe.fastlane.reader import Reader
from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.spec.schema import FastlaneSpec

KIT = REPOSITORY / "workers" / "mosaic_worker"


@pytest.mark.parametrize("file", sorted(KIT.rglob("*.py")), ids=lambda file: file.name)
def test_syntax_is_that_of_3_8(file: Path) -> None:
    ast.parse(file.read_text(), feature_version=(3, 8))


def test_only_the_standard_library_is_imported() -> None:
    for file in KIT.rglob("*.py"):
        libraries = {"gymnasium", "numpy", "torch", "wandb"} if file.parent.name == "rl" else set()
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in {*sys.stdlib_module_names, "mosaic_worker", *libraries}, f"{file}: {name}"
                assert libraries or not name.startswith("mosaic_worker.rl"), f"{file}: {name}"


@pytest.fixture
def oldest_python() -> str:
    found = subprocess.run([find_uv_bin(), "python", "find", ">=3.8"], capture_output=True, text=True, check=True)
    older = subprocess.run([find_uv_bin(), "python", "find", "3.8"], capture_output=True, text=True, check=False)
    return (older.stdout or found.stdout).strip()


def test_a_session_runs_on_the_oldest_python_here(oldest_python: str) -> None:
    program = (
        "import sys; from pathlib import Path; import mosaic_worker.cli, mosaic_worker.interfaces;"
        "from mosaic_worker.session import Session; from mosaic_worker.emitter import Emitter;"
        "session = Session(Emitter(1, 'R', 1), Path('.')); session.listen(); session.started(); session.tick();"
        "session.episode(1.0, 1); session.metric('x', 1.0, 1); session.send_metrics()"
    )
    done = subprocess.run([oldest_python, "-c", program], cwd=KIT, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 3


def test_frames_are_written_on_the_oldest_python_here(oldest_python: str) -> None:
    segment = Segment(str(ULID()), 1, FastlaneSpec(max_dim=16, grid_limit=1))
    program = "from mosaic_worker.fastlane.segment import claim; claim('old').write(bytes(range(12)), 2, 2, 3)"
    variables = {**os.environ, ENV_FASTLANE: str(segment.path)}
    subprocess.run([oldest_python, "-c", program], cwd=KIT, env=variables, check=True)
    reader = Reader(segment.path)
    frame = reader.frame(0)
    reader.close()
    segment.remove()
    assert frame is not None
    assert frame.pixels == bytes(range(12))
