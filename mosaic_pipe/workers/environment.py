"""The workers' virtualenvs: made by uv at first use, kept by the hash of what they are made from.

A virtualenv is complete when its marker exists, and the marker is the last thing written: an interrupted install is
never mistaken for a good one. A file lock lets one process install while the others wait. Using one that is
complete needs no network, no lock and no subprocess.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import psutil
from mosaic_worker.files import write_atomically

from mosaic_pipe.base.errors import UserError, WorkerEnvironmentError
from mosaic_pipe.base.processes import foreign_environment
from mosaic_pipe.workers import uv
from mosaic_pipe.workers.capabilities import Description
from mosaic_pipe.workers.recipe import Recipe, environments_dir
from mosaic_pipe.workers.registry import Worker, kit_dir

MARKER = "complete.json"
PACKAGES = "packages.txt"


class Marker(msgspec.Struct, frozen=True):
    """Content of the marker file: the environment is complete, and this is what it is."""

    key: str
    extras: tuple[str, ...]
    library: str | None
    torch_backend: str | None
    description: Description


@dataclass(frozen=True)
class Environment:
    """An interpreter in which a worker can run."""

    key: str
    """Hash of what it was made from; ``user`` for an interpreter that the user made."""
    python: Path
    description: Description
    packages: str
    """One ``name==version`` a line, as ``pip freeze`` prints them, without passwords."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables that its worker processes need."""


def find_environment(recipe: Recipe) -> Environment | None:
    """The complete virtualenv of ``recipe`` as it is now; None where there is none."""
    return _read_environment(recipe.path)


def ensure_environment(recipe: Recipe, say: Callable[[str], None], torch_backend: str | None = None) -> Environment:
    """The virtualenv of ``recipe``, made now if need be.

    Args:
        recipe: what it is made from.
        say: told what takes time.
        torch_backend: uv's ``--torch-backend`` for a new one; None: pip's configuration decides, else ``auto``.

    Raises:
        WorkerEnvironmentError: it could not be made; nothing half-made is left.
    """
    found = find_environment(recipe)
    if found:
        return found
    from filelock import FileLock, Timeout

    path = recipe.path
    lock = FileLock(f"{path}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"another process is installing the environment of {recipe}; waiting for it")
            lock.acquire()
        found = find_environment(recipe)  # made while we waited
        return found or _make(recipe, path, say, torch_backend)
    except OSError as error:
        raise WorkerEnvironmentError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
    finally:
        lock.release()


def with_checkout(environment: Environment, worker: Worker, checkout: Path) -> Environment:
    """``environment``, with the library of the user's checkout in front of the released one.

    Raises:
        WorkerEnvironmentError: the worker finds no library in it.
    """
    path = [str(checkout), *filter(None, [environment.variables.get("PYTHONPATH")])]
    variables = {**environment.variables, "PYTHONPATH": os.pathsep.join(path)}
    description = _describe(worker, environment.python, variables)
    return replace(environment, description=description, variables=variables)


def user_environment(worker: Worker, python: str) -> Environment:
    """An interpreter that the user made, with the library in it; the kit and the shim come from here.

    Raises:
        WorkerEnvironmentError: it doesn't exist or cannot describe the worker.
    """
    found = shutil.which(Path(python).expanduser())
    if found is None:
        raise WorkerEnvironmentError("no such interpreter", where=f"worker.python={python}")
    interpreter = Path(found).absolute()  # not resolved: a virtualenv's Python is a link
    folders = [kit_dir(), worker.project_dir or worker.package_dir.parent]
    variables = {"PYTHONPATH": os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])}
    description = _describe(worker, interpreter, variables)
    return Environment("user", interpreter, description, uv.freeze(interpreter), variables)


def remove_environments(worker: Worker) -> list[Path]:
    """Delete every virtualenv of ``worker``, those of earlier versions too; returns what was deleted.

    Raises:
        UserError: a process is running in one of them.
    """
    paths = installed(worker.name)
    for path in paths:
        for process in _running_in(path):
            raise UserError(
                f"process {process.pid} is running in it", where=str(path), hint="wait for it or cancel its run"
            )
    for path in paths:
        (path / MARKER).unlink(missing_ok=True)  # from now on it is not complete, whatever happens
        shutil.rmtree(path)
    return paths


def installed(name: str) -> list[Path]:
    """Directories of virtualenvs of the worker ``name``, complete or not."""
    hashed = re.compile(re.escape(name) + r"-[0-9a-f]{16}")
    return [path for path in sorted(environments_dir().glob("*")) if hashed.fullmatch(path.name) and path.is_dir()]


def check_environment(worker: Worker, path: Path) -> str:
    """Ask the worker in the virtualenv at ``path`` to describe itself; returns what the virtualenv is.

    Raises:
        WorkerEnvironmentError: it cannot, or the virtualenv is not complete.
    """
    found = _read_environment(path)
    if found is None:
        raise WorkerEnvironmentError("an interrupted install", where=str(path))
    _describe(worker, found.python, found.variables)
    return f"{len(found.packages.splitlines())} packages"


def _read_environment(path: Path) -> Environment | None:
    try:
        marker = msgspec.json.decode((path / MARKER).read_bytes(), type=Marker)
        packages = (path / PACKAGES).read_text(encoding="utf-8")
    except (OSError, msgspec.DecodeError):
        return None
    return Environment(marker.key, path / "bin" / "python", marker.description, packages)


def _make(recipe: Recipe, path: Path, say: Callable[[str], None], torch_backend: str | None) -> Environment:
    worker = recipe.worker
    say(f"installing the environment of {recipe} (once): {path}")
    shutil.rmtree(path, ignore_errors=True)  # what an interrupted install left
    try:
        uv.make_virtualenv(path, _python_request(worker))
        backend = uv.install(
            path,
            [str(kit_dir()), worker.requirement_with(recipe.extras)],
            constraints=worker.constraints(recipe.extras),
            directory=worker.project_dir or path,
            torch_backend=torch_backend,
        )
        if recipe.library:
            uv.install_alone(path, recipe.library)
        description = _describe(worker, path / "bin" / "python", {})
        (path / PACKAGES).write_text(uv.freeze(path / "bin" / "python"), encoding="utf-8")
        _check_unchanged(recipe, path)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    marker = Marker(recipe.key, recipe.extras, recipe.library, backend, description)
    write_atomically(path / MARKER, lambda file: file.write(msgspec.json.encode(marker)))
    made = _read_environment(path)
    assert made is not None
    return made


def _check_unchanged(recipe: Recipe, path: Path) -> None:
    """Refuse a virtualenv of old and new sources: its hash would be that of neither."""
    if recipe.path != path:
        folder = recipe.worker.project_dir or recipe.worker.package_dir
        raise WorkerEnvironmentError(
            f"the sources of {recipe} changed while it was being installed",
            where=f"{folder}, or the kit in {kit_dir()}",
            hint="try again when they stay as they are",
        )


def _python_request(worker: Worker) -> str:
    """This Python where it suits the worker, else any that does."""
    from packaging.specifiers import SpecifierSet

    suits = SpecifierSet(worker.requires_python).contains(platform.python_version(), prereleases=True)
    return sys.executable if suits else worker.requires_python


def _describe(worker: Worker, python: Path, variables: dict[str, str]) -> Description:
    command = [str(python), "-m", worker.module, "--describe"]
    asked = subprocess.run(command, capture_output=True, env={**foreign_environment(), **variables}, check=False)
    try:
        return msgspec.json.decode(asked.stdout, type=Description)
    except msgspec.DecodeError as error:
        said = asked.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else str(error)
        raise WorkerEnvironmentError(
            f"the worker cannot describe itself: {why}",
            where=str(python),
            hint=f"try: {' '.join(command)}",
        ) from error


def _running_in(path: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"]
        if command and command[0].startswith(f"{path}{os.sep}"):
            yield process
