"""Which workers exist: folders under ``workers/``, and installed packages with an entry point ``mosaic.workers``."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from urllib.parse import unquote, urlparse

from mosaic_pipe.base.bundled import bundled
from mosaic_pipe.base.errors import UserError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.workers.capabilities import FILE_NAME, Capabilities, read_capabilities

GROUP = "mosaic.workers"


@dataclass(frozen=True)
class Worker:
    """A worker that exists: its description, and what its virtualenv is made from."""

    name: str
    package_dir: Path
    """The importable package, which holds ``capabilities.json``."""
    requirement: str
    """What to install: a project folder, or ``name==version`` from an index."""
    requires_python: str
    capabilities: Capabilities

    def requirement_with(self, extras: Sequence[str]) -> str:
        """``requirement`` with ``extras`` of the package."""
        if not extras:
            return self.requirement
        name, equals, version = self.requirement.partition("==")
        return f"{name}[{','.join(extras)}]{equals}{version}"

    @property
    def module(self) -> str:
        """What ``python -m`` runs."""
        return f"{self.package_dir.name}.cli"

    @property
    def project_dir(self) -> Path | None:
        """The folder with the worker's ``pyproject.toml``, if it is installed from one."""
        folder = Path(self.requirement)
        return folder if folder.is_absolute() else None

    def constraints(self, extras: Sequence[str] = ()) -> Path | None:
        """The file that pins what is installed beside it: ``constraints-<extra>.txt`` for an extra that has its own."""
        names = [*(f"constraints-{extra}.txt" for extra in extras), "constraints.txt"]
        folders = [*filter(None, [self.project_dir]), self.package_dir]
        places = (folder / name for name in names for folder in folders)
        return next((place for place in places if place.is_file()), None)


def all_workers() -> dict[str, Worker]:
    """Every worker by name; an installed package may stand in for one of ours, and a broken one is left out."""
    return {worker.name: worker for worker in (*_from_folders(), *_from_entry_points({}))}


def broken_workers() -> dict[str, UserError]:
    """Installed packages that claim to be a worker and are none, by the worker's name."""
    broken: dict[str, UserError] = {}
    list(_from_entry_points(broken))
    return broken


def find_worker(name: str) -> Worker:
    """The worker called ``name``.

    Raises:
        UserError: there is none; suggests the nearest.
    """
    workers = all_workers()
    if name not in workers:
        if broken := broken_workers().get(name):
            raise broken
        raise UserError(f"no worker {name!r}", where="worker.name", hint=did_you_mean(name, workers))
    return workers[name]


def kit_dir() -> Path:
    """The project folder of the kit, installed into every worker's virtualenv."""
    return bundled("workers") / "mosaic_worker"


def config_dirs() -> list[Path]:
    """``conf`` folders of installed workers' packages, for Hydra's search path."""
    dirs = (worker.package_dir / "conf" for worker in _from_entry_points({}))
    return [path for path in dirs if path.is_dir()]


def _from_folders() -> Iterator[Worker]:
    for path in sorted(bundled("workers").glob("*/pyproject.toml")):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for name, target in project.get("entry-points", {}).get(GROUP, {}).items():
            package_dir = path.parent / target.split(":")[0]
            yield _worker(name, package_dir, str(path.parent), project["requires-python"])


def _from_entry_points(broken: dict[str, UserError]) -> Iterator[Worker]:
    """Workers of installed packages; one that is broken goes into ``broken`` and harms nobody else."""
    for entry in entry_points(group=GROUP):
        try:
            yield _from_entry_point(entry)
        except UserError as error:
            broken[entry.name] = error


def _from_entry_point(entry: EntryPoint) -> Worker:
    spec = importlib.util.find_spec(entry.module.split(".")[0])  # a top-level package is found, not executed
    if spec is None or spec.origin is None or entry.dist is None:
        raise UserError(f"entry point {entry.value!r} names no package", where=f"{GROUP}: {entry.name}")
    return _worker(entry.name, Path(spec.origin).parent, _requirement(entry.dist), _requires_python(entry.dist))


def _requires_python(dist: Distribution) -> str:
    found = dist.metadata.get_all("Requires-Python") or [">=3.8"]
    return str(found[0])


def _worker(name: str, package_dir: Path, requirement: str, requires_python: str) -> Worker:
    capabilities = read_capabilities(package_dir / FILE_NAME)
    return Worker(name, package_dir, requirement, requires_python, capabilities)


def _requirement(dist: Distribution) -> str:
    """The folder that ``dist`` was installed from (PEP 610), or its name and version."""
    origin = json.loads(dist.read_text("direct_url.json") or "{}")
    url = urlparse(origin.get("url", ""))
    if url.scheme == "file" and "dir_info" in origin:
        return unquote(url.path)
    return f"{dist.name}=={dist.version}"
