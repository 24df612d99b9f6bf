"""Other processes: what they inherit from this one, and whether one is still the one that we mean."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil

_OUR_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "HYDRA_FULL_ERROR")


def foreign_environment() -> dict[str, str]:
    """The user's environment variables, for a program of another virtualenv: without what belongs to our Python."""
    return {key: value for key, value in os.environ.items() if key not in _OUR_PYTHON}


def this_host() -> str:
    """This machine's name, as manifests record it."""
    return socket.gethostname()


def start_time(pid: int) -> float:
    """When the process ``pid`` started, in epoch seconds; 0.0 where there is none."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def start_mark(pid: int) -> str:
    """What tells ``pid`` from every other process that the machine ever gave this number to; empty: there is none.

    The boot's id, and the kernel's own ticks at the start: a time of day changes when somebody sets the clock.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return "" if state in (b"Z", b"X") else f"{boot} {fields[18].decode()}"


def is_alive(pid: int, mark: str) -> bool:
    """Whether ``pid``, which the system uses again, is the process whose :func:`start_mark` was ``mark``."""
    return start_mark(pid) == mark != ""
