"""A worker process: in a session of its own, with its own view of the machine, gone entirely when it is over."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic_worker.protocol import ENV_ATTEMPT, ENV_FASTLANE, ENV_SCRATCH, ENV_TOKEN

from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.supervise import guard
from mosaic_pipe.supervise.scratch import Scratch
from mosaic_pipe.supervise.start import Spawn, Start


@dataclass(frozen=True)
class Exit:
    """How a worker process ended; times in seconds, memory in MiB, both including children that it waited for."""

    code: int | None
    signal: str | None
    cpu_seconds: float
    peak_rss_mb: float


class WorkerProcess:
    """A started worker. It dies with this process (prctl, and the guard for its children)."""

    def __init__(self, start: Start, attempt: int, spawn: Spawn, segment: Segment | None) -> None:
        """Start it, as attempt number ``attempt`` of its run. It owns ``segment``: that goes when it is reaped.

        Raises:
            OSError: it could not be started; nothing is left running.
        """
        token = secrets.token_hex(16)
        self._token = f"{ENV_TOKEN}={token}"
        self._segment = segment
        try:
            self._scratch = Scratch()
        except OSError:
            self._remove_segment()
            raise
        self._guard = _start_guard(self._token, self._scratch, segment)
        try:
            ours = {ENV_TOKEN: token, ENV_ATTEMPT: str(attempt), ENV_SCRATCH: str(self._scratch.path)}
            if segment:
                ours[ENV_FASTLANE] = str(segment.path)
            self.pid = spawn(replace(start, variables={**start.variables, **ours}))
        except OSError:
            self._dismiss_guard()
            raise
        self.is_reaped = False
        """Whether the process was collected: its pid and its descriptor may be somebody else's by now."""
        self.pidfd = os.pidfd_open(self.pid)
        self._poll = select.poll()
        self._poll.register(self.pidfd, select.POLLIN)
        assert self._guard.stdin is not None
        self._guard.stdin.write(b"%d\n" % self.pid)
        self._guard.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the process to end; whether it has."""
        return bool(self._poll.poll(seconds * 1000))

    def used(self) -> tuple[float, float] | None:
        """CPU seconds and MiB so far, as :class:`Exit` counts them; None where they cannot be seen."""
        try:
            stat, status = (
                Path(f"/proc/{self.pid}/{name}").read_text("utf-8", "replace") for name in ("stat", "status")
            )
            ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))  # utime, stime, cutime, cstime
            peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
        except (OSError, StopIteration):  # it has just ended
            return None
        return round(ticks / os.sysconf("SC_CLK_TCK"), 3), round(peak / 1024, 1)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker itself, not to its children."""
        with contextlib.suppress(ProcessLookupError):  # it has ended
            signal.pidfd_send_signal(self.pidfd, number)

    def kill(self) -> None:
        """SIGKILL everything that belongs to the attempt."""
        guard.kill_attempt(self._token, self.pid)

    def reap(self) -> Exit:
        """Collect the ended process, after killing what is left of its attempt; nothing of it runs afterwards."""
        killed = guard.kill_attempt(self._token, self.pid)  # before the pid is given back to the system
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.is_reaped = True
        _collect_orphans(self.pid, killed - {self.pid})
        os.close(self.pidfd)
        self._dismiss_guard()
        cpu = usage.ru_utime + usage.ru_stime
        name = signal.Signals(-code).name if code < 0 else None
        return Exit(code if code >= 0 else None, name, round(cpu, 3), round(usage.ru_maxrss / 1024, 1))

    def _dismiss_guard(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()
        self._scratch.remove()
        self._remove_segment()

    def _remove_segment(self) -> None:
        if self._segment:
            self._segment.remove()


def _start_guard(token: str, scratch: Scratch, segment: Segment | None) -> subprocess.Popen[bytes]:
    paths, locks = [str(scratch.path)], [scratch.lock]
    if segment:
        paths.append(str(segment.path))
        locks.append(segment.lock)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, token, *paths],
        stdin=subprocess.PIPE,
        start_new_session=True,
        pass_fds=locks,
    )


def _collect_orphans(group: int, killed: Iterable[int]) -> None:
    """Collect what an ended worker left: a subreaper, as the user of a fork server is, has become its parent."""
    for pid in (-group, *killed):  # a negative one: all of the process group
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(pid, os.WNOHANG)[0]:
                pass
