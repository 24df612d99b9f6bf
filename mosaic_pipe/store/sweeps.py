"""A sweep on disk: its name, what it is made of, and who works on it.

::

    <output_dir>/sweeps/<name>/
        sweep.json                 identity, written once
        submissions/<ulid>.json    a command line: the points that it added, and those that it set out to run
        launchers/<ulid>.json      a process that runs points of it; <ulid>.stop asks that one to stop
        jobs/<ulid>.json           an array of Slurm jobs
        jobs/logs/                 what Slurm and submitit keep of their jobs
        study/                     where an optimiser chooses the points (studies.py)

Every file is written once and belongs to one process, so that nothing has to be locked. A point's run id follows from
the sweep and the point: two launchers that know nothing of each other mean the same run, and only one can take it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from mosaic_worker.files import write_atomically
from msgspec import Struct
from ulid import ULID

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.spec.identity import spec_hash
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.attempts import Owner, is_gone, this_owner
from mosaic_pipe.store.placing import place_directory

SCHEMA_VERSION = 1
T = TypeVar("T")


class Identity(Struct, frozen=True):
    """``sweep.json``."""

    name: str
    id: str
    created: float
    schema_version: int = SCHEMA_VERSION


class Point(Struct, frozen=True):
    """One point of a sweep: the overrides that made it, and what they mean."""

    overrides: tuple[str, ...]
    spec_hash: str
    spec: RunSpec

    @property
    def run_id(self) -> str:
        """The point's run."""
        return self.spec.run_id


class Submission(Struct, frozen=True, kw_only=True):
    """One command line that worked on the sweep."""

    submitted: float
    argv: list[str]
    launcher: str
    settings: dict[str, Any]
    """The launcher's configuration."""
    points: list[Point]
    """Those that the sweep did not have before."""
    replaced: list[str]
    """Hashes of points that are no longer wanted."""
    todo: list[str]
    """Hashes of the points that were to be run."""
    schema_version: int = SCHEMA_VERSION


class Launcher(Struct, frozen=True):
    """A process that runs the points of the submission ``submission``, since ``started``."""

    owner: Owner
    submission: str
    started: float


class Jobs(Struct, frozen=True, kw_only=True):
    """An array of Slurm jobs, submitted or about to be: task ``n`` is for the run ``run_ids[n]``.

    ``token`` stands in the jobs' comment. Ids of jobs would not do: Slurm uses them again.
    """

    token: str
    submitted: float
    run_ids: list[str]
    schema_version: int = SCHEMA_VERSION


class Sweep:
    """The sweep in the directory ``path``, which exists."""

    def __init__(self, path: Path) -> None:
        """Raises UserError: it is no sweep."""
        self.path = path
        self._seen: dict[Path, Any] = {}
        try:
            self.identity = msgspec.json.decode((path / "sweep.json").read_bytes(), type=Identity)
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"not a sweep: {error}", where=str(path)) from error

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.identity.name

    @property
    def logs_dir(self) -> Path:
        """What submitit and Slurm keep of their jobs."""
        return self.path / "jobs" / "logs"

    def run_id(self, digest: str) -> str:
        """The run of the point with the spec hash ``digest``: a ULID with the time of the sweep's beginning."""
        moment = ULID.from_timestamp(self.identity.created).bytes[:6]
        return str(ULID(moment + hashlib.sha256(f"{self.identity.id} {digest}".encode()).digest()[:10]))

    def point(self, overrides: tuple[str, ...], spec: RunSpec) -> Point:
        """``spec`` as a point of this sweep."""
        digest = spec_hash(spec)
        named = msgspec.structs.replace(spec, sweep=self.name, run_id=self.run_id(digest))
        return Point(overrides, digest, named)

    def points(self) -> dict[str, Point]:
        """All points that are wanted, by spec hash, in the order in which they came."""
        found: dict[str, Point] = {}
        for submission in self.submissions():
            for digest in submission.replaced:
                found.pop(digest, None)
            for point in submission.points:
                found.setdefault(point.spec_hash, point)
        return found

    def submissions(self) -> list[Submission]:
        """All submissions, oldest first."""
        return self._all("submissions", Submission)

    def submission(self, name: str) -> Submission:
        """The submission that :meth:`submit` called ``name``."""
        return self._read(self.path / "submissions" / f"{name}.json", Submission)

    def submit(self, submission: Submission) -> str:
        """Put ``submission`` on record; returns its name."""
        return self._write("submissions", submission)

    def jobs(self) -> list[Jobs]:
        """All arrays of Slurm jobs, oldest first."""
        return self._all("jobs", Jobs)

    def add_jobs(self, jobs: Jobs) -> Path:
        """Put an array of Slurm jobs on record; returns the record, which may be taken back."""
        return self.path / "jobs" / f"{self._write('jobs', jobs)}.json"

    @contextmanager
    def launcher(self, submission: str) -> Iterator[Path]:
        """Put this process on record as one that runs ``submission``; yields the file that asks it to stop."""
        name = self._write("launchers", Launcher(this_owner(), submission, time.time()))
        record, stop = (self.path / "launchers" / f"{name}{suffix}" for suffix in (".json", ".stop"))
        try:
            yield stop
        finally:
            record.unlink(missing_ok=True)
            stop.unlink(missing_ok=True)

    def launchers(self) -> dict[Path, Launcher]:
        """Launchers that live, as far as can be told from here, by the file that asks each to stop."""
        found = {}
        for path in (self.path / "launchers").glob("[!.]*.json"):
            with suppress(FileNotFoundError, msgspec.DecodeError):  # it has just ended; it is nobody's
                launcher = msgspec.json.decode(path.read_bytes(), type=Launcher)
                if is_gone(launcher.owner):
                    path.unlink()
                else:
                    found[path.with_suffix(".stop")] = launcher
        return found

    def _write(self, folder: str, content: Struct) -> str:
        name = str(ULID())
        (self.path / folder).mkdir(exist_ok=True)
        write_atomically(self.path / folder / f"{name}.json", lambda file: file.write(msgspec.json.encode(content)))
        return name

    def _all(self, folder: str, type_: type[T]) -> list[T]:
        """Everything in ``folder``, oldest first. No file changes after it was written: each is read once."""
        paths = sorted((self.path / folder).glob("[!.]*.json"))
        for path in paths:
            if path not in self._seen:
                self._seen[path] = self._read(path, type_)
        return [self._seen[path] for path in paths]

    def _read(self, path: Path, type_: type[T]) -> T:
        try:
            return msgspec.json.decode(path.read_bytes(), type=type_)
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"cannot be read: {error}", where=str(path)) from error


class Sweeps:
    """The sweeps below ``output_dir``."""

    def __init__(self, output_dir: Path) -> None:
        self.directory = output_dir / "sweeps"

    def names(self) -> list[str]:
        """All of them."""
        try:
            return sorted(entry.name for entry in os.scandir(self.directory) if entry.name[0] != "." and entry.is_dir())
        except FileNotFoundError:
            return []

    def find(self, name: str) -> Sweep:
        """The sweep called ``name``.

        Raises:
            UserError: there is none.
        """
        names = self.names()
        if name not in names:
            hint = did_you_mean(name, names)
            raise UserError(f"there is no sweep {name!r}", where=f"sweeps in {self.directory}", hint=hint)
        return Sweep(self.directory / name)

    def open(self, name: str) -> Sweep:
        """The sweep called ``name``, made now if there is none.

        Raises:
            OSError: it cannot be written.
        """
        identity = Identity(name, str(ULID()), time.time())
        if not (self.directory / name / "sweep.json").exists():
            place_directory(self.directory / name, "sweep.json", msgspec.json.encode(identity))
        return Sweep(self.directory / name)
