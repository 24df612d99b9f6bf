"""The kit runs on Python 3.8: its syntax here, its imports by a Python 3.8 where uv finds one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from machine import REPOSITORY
from uv import find_uv_bin

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


def test_a_session_runs_on_the_oldest_python_here(tmp_path: Path) -> None:
    found = subprocess.run([find_uv_bin(), "python", "find", ">=3.8"], capture_output=True, text=True, check=True)
    older = subprocess.run([find_uv_bin(), "python", "find", "3.8"], capture_output=True, text=True, check=False)
    python = (older.stdout or found.stdout).strip()
    program = (
        "import sys; from pathlib import Path; import mosaic_worker.cli, mosaic_worker.interfaces;"
        "from mosaic_worker.session import Session; from mosaic_worker.emitter import Emitter;"
        "session = Session(Emitter(1, 'R', 1), Path('.')); session.listen(); session.started(); session.tick();"
        "session.episode(1.0, 1); session.metric('x', 1.0, 1); session.send_metrics()"
    )
    done = subprocess.run([python, "-c", program], cwd=KIT, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 3
