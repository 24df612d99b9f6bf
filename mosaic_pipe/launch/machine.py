"""What this machine has for runs, shared out so that nothing is used twice, by other launchers neither.

Cores and GPUs are held by locked files in a folder of the user's below the machine's temporary directory: the kernel
opens the lock when its holder ends, however it ends. Memory is counted by each launcher for itself.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from mosaic_pipe.base.errors import SpecError, UserError
from mosaic_pipe.launch.attempt import Share
from mosaic_pipe.spec.schema import Resources
from mosaic_pipe.supervise.start import machine_gpus


@dataclass
class Held:
    """A share that was taken, and what holds it; give it back to the machine."""

    share: Share
    memory_mb: int
    locks: list[FileLock]


class Machine:
    """The part of this machine that this process may use."""

    def __init__(self) -> None:
        """Raises UserError: the folder for the locks is not this user's."""
        self.cores, self._pins = _cores()
        self.gpus = machine_gpus()
        self.memory_mb = _memory_mb()
        self._free_mb = self.memory_mb
        self._folder = _locks_dir()

    def check(self, resources: Resources, memory_mb: int) -> None:
        """Refuse what would never fit.

        Raises:
            SpecError: it asks for more than there is.
        """
        has = {
            "nodes": (resources.nodes, 1),
            "cpus": (resources.cpus, len(self.cores)),
            "gpus": (resources.gpus, len(self.gpus)),
        }
        has["memory_mb"] = (memory_mb, self.memory_mb)
        for name, (asked, here) in has.items():
            if asked > here:
                raise SpecError(f"{asked} asked for, {here} here", where=f"resources.{name}")

    def take(self, resources: Resources, memory_mb: int) -> Held | None:
        """A share for one run; None while there is no room for it."""
        if memory_mb > self._free_mb:
            return None
        cores = self._lock("core", map(str, self.cores), resources.cpus)
        gpus = self._lock("gpu", self.gpus, resources.gpus) if cores is not None else None
        if cores is None or gpus is None:
            _release(cores or {})
            return None
        self._free_mb -= memory_mb
        share = Share(frozenset(map(int, cores)) if self._pins else None, tuple(gpus))
        return Held(share, memory_mb, [*cores.values(), *gpus.values()])

    def give_back(self, held: Held) -> None:
        """The run is over."""
        self._free_mb += held.memory_mb
        for lock in held.locks:
            lock.release()

    def _lock(self, kind: str, names: Iterable[str], count: int) -> dict[str, FileLock] | None:
        """``count`` of ``names``, or None."""
        held: dict[str, FileLock] = {}
        for name in names:
            if len(held) == count:
                break
            lock = FileLock(self._folder / f"{kind}-{name.replace('/', '_')}.lock", thread_local=False)
            try:
                lock.acquire(timeout=0)
                held[name] = lock
            except Timeout:
                continue
        if len(held) == count:
            return held
        _release(held)
        return None


def _release(held: dict[str, FileLock]) -> None:
    for lock in held.values():
        lock.release()


def _locks_dir() -> Path:
    folder = Path(tempfile.gettempdir()) / f"mosaic-pipe-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UserError("belongs to another user", where=str(folder), hint="set TMPDIR to a folder of yours")
    return folder


def _cores() -> tuple[list[int], bool]:
    """The cores that this process may use at once, and whether runs can be pinned to them.

    A cgroup with a quota lets its processes run anywhere, for so long: which cores are free is then not ours to tell.
    """
    cores = sorted(os.sched_getaffinity(0))
    quota, _, period = _cgroup("cpu.max").partition(" ")
    allowed = int(quota) // int(period) if quota.isdigit() else len(cores)
    return cores[: max(1, allowed)], allowed >= len(cores)


def _memory_mb() -> int:
    """What is available now, within the limit of this process's cgroup."""
    available = psutil.virtual_memory().available
    limit, used = _cgroup("memory.max"), _cgroup("memory.current")
    if limit.isdigit() and used.isdigit():
        available = min(available, int(limit) - int(used))
    return available >> 20


def _cgroup(name: str) -> str:
    """A limit of this process's cgroup (version 2), where there is one."""
    try:
        line = Path("/proc/self/cgroup").read_text(encoding="ascii").strip().splitlines()[-1]
        folder = Path("/sys/fs/cgroup") / line.partition("::")[2].lstrip("/")
        return (folder / name).read_text(encoding="ascii").strip()
    except (OSError, IndexError):
        return ""
