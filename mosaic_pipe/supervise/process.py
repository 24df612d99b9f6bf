"""A worker process: in a session of its own, with its own view of the machine, gone entirely when it is over."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
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

    def __init__(
        self,
        command: list[str],
        run: RunDir,
        attempt: int,
        variables: Mapping[str, str],
        cores: frozenset[int] | None = None,
    ) -> None:
        """Start it, on ``cores`` if they are given.

        Raises:
            OSError: it could not be started; nothing is left running.
        """
        token = secrets.token_hex(16)
        self._token = f"{ENV_TOKEN}={token}"
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, self._token], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            marked = {**variables, ENV_TOKEN: token, ENV_ATTEMPT: str(attempt)}
            self._process = _spawn(command, run, attempt, marked, cores)
        except OSError:
            self._dismiss_guard()
            raise
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self._poll = select.poll()
        self._poll.register(self.pidfd, select.POLLIN)
        assert self._guard.stdin is not None
        self._guard.stdin.write(b"%d\n" % self.pid)
        self._guard.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the process to end; whether it has."""
        return bool(self._poll.poll(seconds * 1000))

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker itself, not to its children."""
        with contextlib.suppress(ProcessLookupError):  # it has ended
            signal.pidfd_send_signal(self.pidfd, number)

    def kill(self) -> None:
        """SIGKILL everything that belongs to the attempt."""
        guard.kill_attempt(self._token, self.pid)

    @property
    def is_reaped(self) -> bool:
        """Whether the process was collected: its pid and its descriptor may be somebody else's by now."""
        return self._process.returncode is not None

    def reap(self) -> Exit:
        """Collect the ended process, after killing what is left of its attempt; nothing of it runs afterwards."""
        self.kill()  # before the pid is given back to the system
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        os.close(self.pidfd)
        self._dismiss_guard()
        cpu = usage.ru_utime + usage.ru_stime
        name = signal.Signals(-code).name if code < 0 else None
        return Exit(code if code >= 0 else None, name, round(cpu, 3), round(usage.ru_maxrss / 1024, 1))

    def _dismiss_guard(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()


def _spawn(
    command: list[str], run: RunDir, attempt: int, variables: Mapping[str, str], cores: frozenset[int] | None
) -> subprocess.Popen[bytes]:
    die = die_with_parent()

    def prepare() -> None:
        die()
        if cores:
            os.sched_setaffinity(0, cores)

    with run.events_file(attempt).open("ab") as events, run.log_file(attempt).open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=events,
            stderr=log,
            cwd=run.path,  # python -m looks for modules here first: nothing of the user's folder is picked up
            env=variables,
            start_new_session=True,
            preexec_fn=prepare,
        )


def worker_command(worker: Worker, environment: Environment, spec_file: Path, resume: Path | None = None) -> list[str]:
    """What starts ``worker`` on a spec; ``resume``: a checkpoint of the same run to go on from."""
    command = [str(environment.python), "-m", worker.module, "--config", str(spec_file.resolve())]
    return [*command, "--resume", str(resume.resolve())] if resume else command


def worker_variables(spec: RunSpec, environment: Environment, gpus: Sequence[str] | None = None) -> dict[str, str]:
    """The environment variables of a worker process: the user's, its share of the machine, and its interpreter's.

    Args:
        spec: what it runs.
        environment: its interpreter.
        gpus: those that it may see; None: the first of the machine's.

    Raises:
        SpecError: more GPUs are asked for than there are.
    """
    visible = choose_gpus(spec.resources) if gpus is None else gpus
    return {
        "PYTHONHASHSEED": "0",  # the same seed, the same order of sets
        **foreign_environment(),
        **dict.fromkeys(_THREADS, str(spec.resources.cpus)),
        "CUDA_VISIBLE_DEVICES": ",".join(visible),
        "PYTHONUNBUFFERED": "1",  # what was printed before a crash is in the log
        "PYTHONFAULTHANDLER": "1",
        **environment.variables,
    }


def choose_gpus(resources: Resources) -> list[str]:
    """The first of the machine's GPUs, as many as ``resources`` ask for.

    Raises:
        SpecError: there are fewer.
    """
    gpus = machine_gpus()
    if resources.gpus > len(gpus):
        raise SpecError(f"{resources.gpus} asked for, {len(gpus)} here", where="resources.gpus")
    return gpus[: resources.gpus]


def machine_gpus() -> list[str]:
    """The GPUs that this process may use, as ``CUDA_VISIBLE_DEVICES`` names them."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is not None:
        return [gpu for gpu in allowed.split(",") if gpu.strip()]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]
