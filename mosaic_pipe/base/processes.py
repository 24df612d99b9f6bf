"""Is that process still the one we mean? A pid alone is used again by the system."""

from __future__ import annotations

import socket

import psutil


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
    """Whether ``pid`` is the process that started at ``started``, and has not ended."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
