"""The guard: sees to it that nothing of an attempt outlives its supervisor, however that ends.

Run as a program of its own (``python -I -S guard.py TOKEN SCRATCH [SEGMENT]``) it waits until its stdin closes, which
the kernel does even after ``kill -9`` of the supervisor, and then kills every process of the attempt and removes its
scratch directory and its shared memory. Standard library only.

A process belongs to the attempt when it is in the worker's session, or when it carries the attempt's token in its
environment: Ray's processes leave the group, and a double fork leaves the session.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_ROUNDS = 20  # a process may fork while it is being looked for
_PATIENT_ROUNDS = 14
"""For half a second Python's resource tracker may live: it ends by itself, and unlinks what the others had shared."""


def kill_attempt(token: str, session: int) -> set[int]:
    """SIGKILL every process of an attempt but this one, until there is none left; returns whom it found.

    Args:
        token: ``NAME=value`` as it stands in the processes' environment.
        session: session id of the worker; -1: not known.
    """
    seen: set[int] = set()
    for round_ in range(_ROUNDS):
        found = list(_processes(token.encode(), session))
        if not found:
            break
        seen.update(found)
        for pid in found:
            if round_ >= _PATIENT_ROUNDS or not _is_resource_tracker(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.005 * (round_ + 1))
    return seen


def _is_resource_tracker(pid: int) -> bool:
    try:
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _processes(token: bytes, session: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _belongs(entry, token, session):
            yield int(entry.name)


def _belongs(process: Path, token: bytes, session: int) -> bool:
    try:
        # "pid (name) state ppid pgrp session …": the name may hold spaces and parentheses
        state, _, _, its_session = (process / "stat").read_bytes().rpartition(b")")[2].split()[:4]
        if state in (b"Z", b"X"):
            return False
        return int(its_session) == session or token in (process / "environ").read_bytes().split(b"\0")
    except (OSError, ValueError):  # it ended, or is another user's
        return False


def main() -> None:
    """Wait for the supervisor's end, then clean up. Stdin: the worker's pid on a line, once it is known."""
    for number in (signal.SIGTERM, signal.SIGUSR2):  # Slurm sends them to every process of a job
        signal.signal(number, signal.SIG_IGN)
    said = sys.stdin.buffer.read()
    kill_attempt(sys.argv[1], int(said) if said.strip().isdigit() else -1)
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    for segment in sys.argv[3:]:
        Path(segment).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
