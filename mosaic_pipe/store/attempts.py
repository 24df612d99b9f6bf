"""Who works on a run: one owner for each attempt.

An attempt belongs to whoever puts ``attempts/<n>/owner.json`` in place (:mod:`placing`). The next one may be taken
only when the one before is over: its manifest says so, or its owner is known to be dead.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

import msgspec

from mosaic_pipe.base.processes import is_alive, start_mark, start_time, this_host
from mosaic_pipe.store.placing import place_directory
from mosaic_pipe.store.run_dir import RunDir


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The process that looks after an attempt; ``pid_mark``: :func:`start_mark`; ``slurm``: the identity of its job."""

    host: str
    pid: int
    pid_started: float
    pid_mark: str
    slurm: dict[str, str] | None = None
    token: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))


IsGone = Callable[[Owner], bool]
"""Whether an owner is known to be dead; False where that cannot be told."""


def this_owner(slurm: dict[str, str] | None = None) -> Owner:
    """This process, for one attempt."""
    pid = os.getpid()
    return Owner(host=this_host(), pid=pid, pid_started=start_time(pid), pid_mark=start_mark(pid), slurm=slurm)


def is_gone(owner: Owner) -> bool:
    """Whether ``owner`` ran on this machine and has ended; only the machine that it ran on can tell."""
    return owner.host == this_host() and not is_alive(owner.pid, owner.pid_mark)


def newest_attempt(run: RunDir) -> int:
    """Number of the newest attempt that somebody took; 0: nobody has yet."""
    try:
        names = [entry.name for entry in run.attempts_dir.iterdir()]
    except FileNotFoundError:
        return 0
    return max((int(name) for name in names if name.isdigit()), default=0)


def owner_of(run: RunDir, attempt: int) -> Owner | None:
    """Whose ``attempt`` is; None where that cannot be read."""
    try:
        return msgspec.json.decode(run.owner_file(attempt).read_bytes(), type=Owner)
    except (OSError, msgspec.DecodeError):
        return None


def take_attempt(run: RunDir, number: int, owner: Owner) -> bool:
    """Try to make attempt ``number`` of ``run`` the ``owner``'s; whether it is.

    Raises:
        OSError: the directory cannot be written.
    """
    file = run.owner_file(number)
    place_directory(file.parent, file.name, msgspec.json.encode(owner))
    return owner_of(run, number) == owner
