"""What a worker's virtualenv is made from, and so where it is kept."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.workers.capabilities import needed_extras
from mosaic_pipe.workers.registry import Worker, kit_dir


def environments_dir() -> Path:
    """Where virtualenvs are kept: ``$MOSAIC_HOME/envs``, by default below ``~/.local/share/mosaic-pipe``."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(os.environ.get("MOSAIC_HOME") or Path(data) / "mosaic-pipe") / "envs"


@dataclass(frozen=True)
class Recipe:
    """What a virtualenv is made from."""

    worker: Worker
    extras: tuple[str, ...] = ()
    """Extras of the worker's package."""
    library: str | None = None
    """Requirement that replaces the released library, such as ``cleanrl @ git+https://…@commit``."""

    @property
    def key(self) -> str:
        """16 hex digits of the sha256 of everything that the virtualenv is made from."""
        parts = (self.worker.requirement_with(self.extras), self.library or "")
        digest = hashlib.sha256(f"1 {parts} {platform.python_version()} {platform.machine()}".encode())
        for root in (kit_dir(), self.worker.project_dir, self.worker.package_dir):
            for file in _sources(root) if root else ():
                digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
        return digest.hexdigest()[:16]

    @property
    def path(self) -> Path:
        """Where the virtualenv is, or will be."""
        return environments_dir() / f"{self.worker.name}-{self.key}"

    def __str__(self) -> str:
        what = f"{self.worker.name}[{','.join(self.extras)}]" if self.extras else self.worker.name
        return f"{what} with {self.library}" if self.library else what


def recipe_for(spec: RunSpec, worker: Worker) -> Recipe:
    """What ``spec`` needs installed.

    Raises:
        SpecError: the source of the library is not told whole.
    """
    choice = spec.worker
    library = None
    if choice.source == "git":
        if not choice.commit or not choice.repository:
            raise SpecError("has no value", where="worker.commit", hint="worker.source=git needs worker.commit=…")
        if urlparse(choice.repository).password:
            raise SpecError("holds a password", where="worker.repository", hint="leave it to git's credential helper")
        library = f"{worker.capabilities.upstream_library} @ git+{choice.repository}@{choice.commit}"
    return Recipe(worker, needed_extras(spec, worker.capabilities), library)


def checkout_of(spec: RunSpec) -> Path | None:
    """The user's checkout of the library, where ``spec`` wants one.

    Raises:
        SpecError: it is not told, or no folder.
    """
    choice = spec.worker
    if choice.source != "path":
        return None
    if not choice.path:
        raise SpecError("has no value", where="worker.path", hint="worker.source=path needs worker.path=FOLDER")
    folder = Path(choice.path).expanduser().absolute()
    if not folder.is_dir():
        raise SpecError("no such folder", where=f"worker.path={choice.path}")
    return folder


def _sources(root: Path) -> Iterator[Path]:
    """The files below ``root`` that end up in a virtualenv, or decide what does."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in ("tests", "__pycache__") and name[0] != ".")
        for name in sorted(names):
            if name.endswith((".py", ".json", ".toml", ".yaml")) or name.startswith("constraints"):
                yield Path(folder) / name
