"""Other processes: what they inherit from this one, and whether one is still the one that we mean."""

from __future__ import annotations

import os
import socket

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


def is_alive(pid: int, started: float) -> bool:
    """Whether ``pid``, which the system uses again, is the process that started at ``started``, and has not ended."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
