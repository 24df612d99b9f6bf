"""Calling uv: it makes virtualenvs and installs into them. Its progress goes to the user's terminal."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mosaic_pipe.base.errors import WorkerEnvironmentError
from mosaic_pipe.base.linux import die_with_parent
from mosaic_pipe.base.processes import foreign_environment
from mosaic_pipe.workers.pip_config import chooses_packages, pip_settings, uv_environment


def make_virtualenv(path: Path, python: str) -> None:
    """Make an empty virtualenv at ``path``.

    Args:
        path: where; must not exist.
        python: path of an interpreter, or a version request such as ``>=3.10,<3.12``.

    Raises:
        WorkerEnvironmentError: no such Python, no room, …
    """
    _run(["venv", "--quiet", "--python", python, str(path)], {}, path.parent)


def install(
    path: Path, requirements: Sequence[str], *, constraints: Path | None, directory: Path, torch_backend: str | None
) -> str | None:
    """Install ``requirements`` into the virtualenv at ``path``.

    Args:
        path: the virtualenv.
        requirements: project folders, or ``name==version``.
        constraints: file of pins for everything else that is installed.
        directory: where uv looks for ``[tool.uv]`` settings.
        torch_backend: which builds of torch; None: as :func:`torch_backend_for` decides.

    Returns:
        The torch backend that was asked for, if any.

    Raises:
        WorkerEnvironmentError: uv failed; it has told the user why.
    """
    settings = pip_settings()
    backend = torch_backend_for(settings, torch_backend)
    command = ["pip", "install", "--python", str(path / "bin" / "python")]
    command += ["--constraint", str(constraints)] if constraints else []
    command += ["--torch-backend", backend] if backend else []
    _run([*command, *requirements], uv_environment(settings), directory)
    return backend


def install_alone(path: Path, requirement: str) -> None:
    """Install ``requirement`` into the virtualenv at ``path`` in place of another version, without its dependencies.

    Raises:
        WorkerEnvironmentError: uv failed; it has told the user why.
    """
    command = ["pip", "install", "--python", str(path / "bin" / "python"), "--no-deps"]
    _run([*command, requirement], uv_environment(pip_settings()), path)


def torch_backend_for(settings: dict[str, str], asked: str | None) -> str | None:
    """The user's word first; then pip's configuration (None: say nothing to uv); then what suits the machine."""
    if asked or os.environ.get("UV_TORCH_BACKEND"):
        return asked
    return None if chooses_packages(settings) else "auto"


def freeze(python: Path) -> str:
    """What is installed beside the interpreter ``python``, a line a package, passwords in addresses masked."""
    from uv import find_uv_bin

    command = [find_uv_bin(), "pip", "freeze", "--quiet", "--python", str(python)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return re.sub(r"://[^/@\s]+@", "://***@", listed)


def version() -> str:
    """uv's own version line."""
    from uv import find_uv_bin

    return subprocess.run([find_uv_bin(), "--version"], capture_output=True, text=True, check=False).stdout.strip()


def _run(arguments: Sequence[str], variables: dict[str, str], directory: Path) -> None:
    from uv import find_uv_bin

    done = subprocess.run(
        [find_uv_bin(), *arguments],
        env={"UV_COMPILE_BYTECODE": "1", **variables, **foreign_environment()},  # what the user set for uv itself wins
        cwd=directory,
        stdin=subprocess.DEVNULL,
        preexec_fn=die_with_parent(),
        check=False,
    )
    if done.returncode:
        raise WorkerEnvironmentError(
            f"uv {arguments[0]} failed with exit code {done.returncode}; its message stands above",
            where=str(directory),
            hint="mosaic-pipe workers doctor checks the rest",
        )
