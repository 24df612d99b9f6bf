"""The pages do what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from machine import REPOSITORY, Machine

from mosaic_pipe.workers import uv


def test_adding_a_worker_to_the_letter(tmp_path: Path) -> None:
    """A fresh folder, filled from the page alone."""
    page = (REPOSITORY / "docs" / "adding-a-worker.md").read_text()
    files = dict(re.findall(r"^### `(\S+)`$.*?^```\w+$\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    project = tmp_path / "dice_worker"
    assert files.keys() == set(re.findall(r"^  ((?:dice_worker/|pyproject)\S+)$", page, re.MULTILINE))
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    venv = tmp_path / "venv"
    uv.make_virtualenv(venv, sys.executable)
    for requirements in ([str(REPOSITORY)], ["--no-deps", str(project)]):
        uv.install(venv, requirements, constraints=None, directory=tmp_path, torch_backend=None)
    machine = Machine(venv, tmp_path / "home", tmp_path)
    machine.run("worker=dice", "algo=dice", "env=pendulum", "total_timesteps=5000")
    assert machine.manifest()["summary"]["episodes"] == 25
    assert "ok   worker dice:" in machine.run("workers", "doctor")


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))])
def test_links_lead_somewhere(page: str) -> None:
    file = REPOSITORY / page
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text()):
        assert target.startswith("http") or (file.parent / target).exists(), target
