"""A worker process: in a session of its own, with its own view of the machine, gone entirely when it is over."""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker.protocol import ENV_ATTEMPT, ENV_TOKEN

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.linux import die_with_parent
from mosaic_pipe.base.processes import foreign_environment
from mosaic_pipe.spec.schema import Resources, RunSpec
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.supervise import guard
from mosaic_pipe.workers.environment import Environment
from mosaic_pipe.workers.registry import Worker

_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@dataclass(frozen=True)
class Exit:
    """How a worker process ended; times in seconds, memory in MiB, both including children that it waited for."""

    code: int | None
    signal: str | None
    cpu_seconds: float
    peak_rss_mb: float


class WorkerProcess:
    """A started worker. It dies with this process (prctl, and the guard for its children)."""

    def __init__(self, command: list[str], run: RunDir, attempt: int, variables: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            OSError: it could not be started; nothing is left running.
        """
        token = secrets.token_hex(16)
        self._token = f"{ENV_TOKEN}={token}"
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, self._token], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self._process = _spawn(command, run, attempt, {**variables, ENV_TOKEN: token, ENV_ATTEMPT: str(attempt)})
        except OSError:
            self._dismiss_guard()
            raise
        self.pid = self._process.pid
        self._pidfd = os.pidfd_open(self.pid)
        self._poll = select.poll()
        self._poll.register(self._pidfd, select.POLLIN)
        assert self._guard.stdin is not None
        self._guard.stdin.write(b"%d\n" % self.pid)
        self._guard.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the process to end; whether it has."""
        return bool(self._poll.poll(seconds * 1000))

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker itself, not to its children."""
        signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """SIGKILL everything that belongs to the attempt."""
        guard.kill_attempt(self._token, self.pid)

    def reap(self) -> Exit:
        """Collect the ended process, after killing what is left of its attempt; nothing of it runs afterwards."""
        self.kill()  # before the pid is given back to the system
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        os.close(self._pidfd)
        self._dismiss_guard()
        cpu = usage.ru_utime + usage.ru_stime
        name = signal.Signals(-code).name if code < 0 else None
        return Exit(code if code >= 0 else None, name, round(cpu, 3), round(usage.ru_maxrss / 1024, 1))

    def _dismiss_guard(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()


def _spawn(command: list[str], run: RunDir, attempt: int, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with run.events_file(attempt).open("ab") as events, run.log_file(attempt).open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=events,
            stderr=log,
            cwd=run.path,  # python -m looks for modules here first: nothing of the user's folder is picked up
            env=variables,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )


def worker_command(worker: Worker, environment: Environment, spec_file: Path) -> list[str]:
    """What starts ``worker`` on a spec."""
    return [str(environment.python), "-m", worker.module, "--config", str(spec_file.resolve())]


def worker_variables(spec: RunSpec, environment: Environment) -> dict[str, str]:
    """The environment variables of a worker process: the user's, its share of the machine, and its interpreter's.

    Raises:
        SpecError: more GPUs are asked for than there are.
    """
    return {
        "PYTHONHASHSEED": "0",  # the same seed, the same order of sets
        **foreign_environment(),
        **dict.fromkeys(_THREADS, str(spec.resources.cpus)),
        "CUDA_VISIBLE_DEVICES": ",".join(choose_gpus(spec.resources)),
        "PYTHONUNBUFFERED": "1",  # what was printed before a crash is in the log
        "PYTHONFAULTHANDLER": "1",
        **environment.variables,
    }


def choose_gpus(resources: Resources) -> list[str]:
    """The GPUs that a worker may see: the first of those that this process may use.

    Raises:
        SpecError: there are fewer.
    """
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is not None:
        gpus = [gpu for gpu in allowed.split(",") if gpu.strip()]
    else:
        gpus = [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]
    if resources.gpus > len(gpus):
        raise SpecError(f"{resources.gpus} asked for, {len(gpus)} here", where="resources.gpus")
    return gpus[: resources.gpus]
