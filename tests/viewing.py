"""A viewer as a user starts it."""

from __future__ import annotations

import signal
from urllib.parse import urlsplit

import psutil
from machine import Machine


class Viewer:
    """``mosaic-pipe view`` on a machine; ``url`` is what it printed."""

    def __init__(self, machine: Machine, *arguments: str) -> None:
        self.process = machine.start("view", *arguments)
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.process.communicate()

    @property
    def base(self) -> str:
        """Scheme, host and port."""
        return self.url.partition("?")[0][: len("http://") + len(urlsplit(self.url).netloc)]

    @property
    def token(self) -> str:
        """What the URL carries."""
        return self.url.rpartition("token=")[2]

    def at(self, path: str) -> str:
        """The address of a page, with the token."""
        return f"{self.base}{path}{'&' if '?' in path else '?'}token={self.token}"

    def cpu_seconds(self) -> float:
        """Used so far, all of it."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def stop(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        return self.process.returncode
