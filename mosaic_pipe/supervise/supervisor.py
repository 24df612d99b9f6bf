"""One attempt of one run, from spawn to manifest."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from mosaic_worker.protocol import Failure

from mosaic_pipe.spec.schema import Resources
from mosaic_pipe.store.manifest import Attempt, FailureReport, Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import record_fold
from mosaic_pipe.store.states import State, check_transition
from mosaic_pipe.supervise.outcome import Outcome, StopReason, outcome
from mosaic_pipe.supervise.process import Exit, WorkerProcess
from mosaic_pipe.telemetry.fold import Fold, Summary
from mosaic_pipe.telemetry.reader import EventReader

POLL_SECONDS = 0.1
MANIFEST_SECONDS = 10.0
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Progress:
    """What there is to show while a run goes on; ``notices``: what just happened, for the user."""

    state: State
    summary: Summary
    elapsed: float
    notices: tuple[str, ...] = ()


class Supervisor:
    """Watches one worker process: events, limits, signals; ends it when it must and writes what happened."""

    def __init__(self, run: RunDir, manifest: Manifest, show: Callable[[Progress], None]) -> None:
        self._run, self._manifest, self._show = run, manifest, show
        self._attempt: Attempt = manifest.attempts[-1]
        self._resources: Resources = manifest.spec.resources
        self._reader = EventReader(run.events_file(self._attempt.number))
        self._fold = Fold()
        self._stop: tuple[StopReason, str] | None = None
        self._kill_at = float("inf")
        self._stop_signals = 0
        self._notices: list[str] = []
        self._oom_kills, self._oom_killed = _oom_kills(), False

    def supervise(self, command: list[str], variables: dict[str, str]) -> Manifest:
        """Run the worker to its end; the manifest is on disk when this returns.

        Args:
            command: what starts the worker.
            variables: its environment variables.

        Raises:
            OSError: the last manifest could not be written, whatever was tried.
        """
        self._started = self._heard = self._written = time.monotonic()
        with self._signals():
            self._move(State.PROVISIONING)
            self._write()
            try:
                process = WorkerProcess(command, self._run, self._attempt.number, variables)
            except OSError as error:
                self._end(Outcome(State.FAILED, (Failure.WORKER_LOST, f"the worker could not be started: {error}")))
                return self._manifest
            self._attempt.worker_pid = process.pid
            try:
                while not process.wait(POLL_SECONDS):
                    self._watch(process)
            finally:
                exit = process.reap()  # kills it, if an exception of ours brought us here
            self._conclude(exit)
        return self._manifest

    def _watch(self, process: WorkerProcess) -> None:
        """One look at everything."""
        checkpoints = len(self._fold.checkpoints)
        self._read_events()
        self._check_signals(process)
        self._check_limits(process)
        kills = _oom_kills()
        self._oom_killed, self._oom_kills = kills > self._oom_kills, kills
        due = time.monotonic() - self._written > MANIFEST_SECONDS
        if due or len(self._fold.checkpoints) > checkpoints:
            self._write()
        self._report()

    def _read_events(self, *, final: bool = False) -> None:
        if not self._fold.feed(self._reader.read(final=final)):
            return
        self._heard = time.monotonic()
        if self._manifest.state is State.PROVISIONING:
            self._move(State.RUNNING)
            self._write()

    def _check_signals(self, process: WorkerProcess) -> None:
        if self._stop_signals >= 2:
            self._kill_at = 0.0
        elif self._stop_signals == 1 and self._stop is None:
            self._ask_to_stop(process, StopReason.CANCEL, "stopping with a checkpoint; press Ctrl-C again to kill")

    def _check_limits(self, process: WorkerProcess) -> None:
        now, limits = time.monotonic(), self._resources
        if now >= self._kill_at:
            process.kill()
        if self._stop is not None:
            return
        if self._fold.ending is not None:  # it has said its last word: all that is left to it is to end
            self._stop = (StopReason.LINGERS, "the worker did not end after its last word")
            self._kill_at = now + limits.stop_grace
            return
        silent = max(now - self._heard, self._fold.idle)
        if limits.time_limit is not None and now - self._started > limits.time_limit:
            self._ask_to_stop(process, StopReason.TIME_LIMIT, f"the time limit of {limits.time_limit:g} s is over")
        elif silent > limits.heartbeat_timeout:
            process.send(signal.SIGUSR1)  # its log then shows where it hangs
            sentence = (
                f"no sign of life from training for {silent:.1f} s (heartbeat_timeout {limits.heartbeat_timeout:g} s)"
            )
            self._ask_to_stop(process, StopReason.HEARTBEAT, sentence)

    def _ask_to_stop(self, process: WorkerProcess, reason: StopReason, sentence: str) -> None:
        self._stop = (reason, sentence)
        self._notices.append(sentence)
        self._kill_at = time.monotonic() + self._resources.stop_grace
        process.send(signal.SIGTERM)

    def _conclude(self, exit: Exit) -> None:
        self._read_events(final=True)
        attempt = self._attempt
        attempt.exit_code, attempt.signal = exit.code, exit.signal
        attempt.cpu_seconds, attempt.peak_rss_mb = exit.cpu_seconds, exit.peak_rss_mb
        self._manifest.resources = {"cpu_seconds": exit.cpu_seconds, "peak_rss_mb": exit.peak_rss_mb}
        oom_killed = self._oom_killed or _oom_kills() > self._oom_kills
        last_words = "".join(self._run.log_tail(attempt.number, lines=1))
        self._end(outcome(exit, self._fold.ending, self._stop, oom_killed=oom_killed, last_words=last_words))

    def _end(self, end: Outcome) -> None:
        """Write the last manifest, and show it."""
        self._move(end.state)
        self._attempt.ended = time.time()
        if end.failure:
            self._manifest.failure = FailureReport(*end.failure, self._run.log_tail(self._attempt.number))
        record_fold(self._manifest, self._fold, self._reader.skipped)
        self._run.write_manifest(self._manifest, use_reserve=True)
        self._run.release_reserve()
        self._report()

    def _move(self, state: State) -> None:
        self._manifest.state = check_transition(self._manifest.state, state)

    def _write(self) -> None:
        record_fold(self._manifest, self._fold, self._reader.skipped)
        self._written = time.monotonic()
        try:
            self._run.write_manifest(self._manifest)
        except OSError as error:  # the one that matters is the last
            self._notices.append(f"manifest.json could not be written: {error.strerror}")

    def _report(self) -> None:
        elapsed = time.monotonic() - self._started
        self._show(Progress(self._manifest.state, self._fold.summary(), elapsed, tuple(self._notices)))
        self._notices.clear()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Count requests to stop instead of dying of them; what is ignored, under nohup say, stays ignored."""

        def count(number: int, frame: FrameType | None) -> None:
            self._stop_signals += 1

        heeded = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, count) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _oom_kills() -> int:
    """How many processes the kernel has killed for memory since it started."""
    try:
        found = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
