"""The workers' virtualenvs: made by uv at first use, kept by the hash of what they are made from.

A virtualenv is complete when its marker exists, and the marker is the last thing written: an interrupted install is
never mistaken for a good one. A file lock lets one process install while the others wait. Using one that is
complete needs no network, no lock and no subprocess.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil
from mosaic_worker.files import write_atomically

from mosaic_pipe.base.errors import UserError, WorkerEnvironmentError
from mosaic_pipe.base.processes import foreign_environment
from mosaic_pipe.workers import uv
from mosaic_pipe.workers.capabilities import Description
from mosaic_pipe.workers.registry import Worker, kit_dir

MARKER = "complete.json"
PACKAGES = "packages.txt"


class Marker(msgspec.Struct, frozen=True):
    """Content of the marker file: the environment is complete, and this is what it is."""

    key: str
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


def environments_dir() -> Path:
    """Where virtualenvs are kept: ``$MOSAIC_HOME/envs``, by default below ``~/.local/share/mosaic-pipe``."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(os.environ.get("MOSAIC_HOME") or Path(data) / "mosaic-pipe") / "envs"


def environment_dir(worker: Worker) -> Path:
    """Where the virtualenv of ``worker`` is, or will be."""
    return environments_dir() / f"{worker.name}-{_key(worker)}"


def find_environment(worker: Worker) -> Environment | None:
    """The complete virtualenv of ``worker`` as it is now; None where there is none."""
    path = environment_dir(worker)
    try:
        marker = msgspec.json.decode((path / MARKER).read_bytes(), type=Marker)
        packages = (path / PACKAGES).read_text(encoding="utf-8")
    except (OSError, msgspec.DecodeError):
        return None
    return Environment(marker.key, path / "bin" / "python", marker.description, packages)


def ensure_environment(worker: Worker, say: Callable[[str], None], torch_backend: str | None = None) -> Environment:
    """The virtualenv of ``worker``, made now if need be.

    Args:
        worker: whose virtualenv.
        say: told what takes time.
        torch_backend: uv's ``--torch-backend`` for a new one; None: pip's configuration decides, else ``auto``.

    Raises:
        WorkerEnvironmentError: it could not be made; nothing half-made is left.
    """
    found = find_environment(worker)
    if found:
        return found
    from filelock import FileLock, Timeout

    path = environment_dir(worker)
    lock = FileLock(f"{path}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"another process is installing the environment of {worker.name}; waiting for it")
            lock.acquire()
        found = find_environment(worker)  # made while we waited
        return found or _make(worker, path, say, torch_backend)
    except OSError as error:
        raise WorkerEnvironmentError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
    finally:
        lock.release()


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


def check_environment(worker: Worker, environment: Environment) -> None:
    """Ask the worker in ``environment`` to describe itself.

    Raises:
        WorkerEnvironmentError: it cannot.
    """
    _describe(worker, environment.python, environment.variables)


def _make(worker: Worker, path: Path, say: Callable[[str], None], torch_backend: str | None) -> Environment:
    say(f"installing the environment of {worker.name} (once): {path}")
    shutil.rmtree(path, ignore_errors=True)  # what an interrupted install left
    try:
        uv.make_virtualenv(path, _python_request(worker))
        backend = uv.install(
            path,
            [str(kit_dir()), worker.requirement],
            constraints=worker.constraints,
            directory=worker.project_dir or path,
            torch_backend=torch_backend,
        )
        description = _describe(worker, path / "bin" / "python", {})
        (path / PACKAGES).write_text(uv.freeze(path / "bin" / "python"), encoding="utf-8")
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    marker = Marker(_key(worker), backend, description)
    write_atomically(path / MARKER, lambda file: file.write(msgspec.json.encode(marker)))
    made = find_environment(worker)
    assert made is not None
    return made


def _python_request(worker: Worker) -> str:
    """This Python where it suits the worker, else any that does."""
    from packaging.specifiers import SpecifierSet

    suits = SpecifierSet(worker.requires_python).contains(platform.python_version(), prereleases=True)
    return sys.executable if suits else worker.requires_python


def _key(worker: Worker) -> str:
    """16 hex digits of the sha256 of everything that the virtualenv is made from."""
    digest = hashlib.sha256(f"1 {worker.requirement} {platform.python_version()} {platform.machine()}".encode())
    for root in (kit_dir(), worker.project_dir, worker.package_dir):
        for file in _sources(root) if root else ():
            digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _sources(root: Path) -> Iterator[Path]:
    """The files below ``root`` that end up in a virtualenv, or decide what does."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in ("tests", "__pycache__") and name[0] != ".")
        for name in sorted(names):
            if name.endswith((".py", ".json", ".toml", ".yaml", "constraints.txt")):
                yield Path(folder) / name


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
