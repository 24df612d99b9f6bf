"""One attempt of one run, from spawn to manifest."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic_worker.fastlane import layout
from mosaic_worker.protocol import Failure

from mosaic_pipe.fastlane.segment import Segment
from mosaic_pipe.spec.schema import Resources
from mosaic_pipe.store.manifest import Attempt, FailureReport, Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import fold_attempts, record_fold
from mosaic_pipe.store.states import State, check_transition
from mosaic_pipe.supervise.outcome import Outcome, StopReason, outcome
from mosaic_pipe.supervise.process import Exit, WorkerProcess
from mosaic_pipe.supervise.snapshots import Snapshots
from mosaic_pipe.supervise.start import Spawn, Start
from mosaic_pipe.telemetry.fold import Summary
from mosaic_pipe.telemetry.reader import EventReader

POLL_SECONDS = 0.2
MANIFEST_SECONDS = 10.0


@dataclass(frozen=True)
class Progress:
    """What there is to show while a run goes on; ``notices``: what just happened, for the user."""

    state: State
    summary: Summary
    elapsed: float
    notices: tuple[str, ...] = ()


class Supervisor:
    """Watches one worker process: events, limits, requests; ends it when it must and writes what happened.

    :meth:`start` it, then :meth:`look` several times a second until that says that the attempt is over. Nothing here
    blocks for long, so that one process can look after many.
    """

    def __init__(self, run: RunDir, manifest: Manifest, show: Callable[[Progress], None]) -> None:
        self.manifest = manifest
        self._run, self._show = run, show
        self._attempt: Attempt = manifest.attempts[-1]
        self._resources: Resources = manifest.spec.resources
        self._reader = EventReader(run.events_file(self._attempt.number))
        self._fold, self._skipped_before = fold_attempts(run, manifest.attempts[:-1])
        self._fold.begin_attempt()
        self._process: WorkerProcess | None = None
        self._snapshots: Snapshots | None = None
        self._stop: tuple[StopReason, str] | None = None
        self._kill_at = float("inf")
        self._notices: list[str] = []
        self._oom_kills, self._oom_killed = _oom_kills(), False

    @property
    def process_fd(self) -> int:
        """A descriptor that becomes readable when the worker ends; -1 before its start."""
        return self._process.pidfd if self._process else -1

    def start(self, start: Start, spawn: Spawn) -> bool:
        """Start the worker; whether it could be. If not, the attempt is over.

        Raises:
            OSError: the manifest could not be written.
        """
        self._started = self._heard = self._written = time.monotonic()
        self._move(State.PROVISIONING)
        self._write()
        segment = self._make_segment()
        try:
            self._process = WorkerProcess(start, self._attempt.number, spawn, segment)
        except OSError as error:
            self._end(Outcome(State.FAILED, (Failure.WORKER_LOST, f"the worker could not be started: {error}")))
            return False
        self._attempt.worker_pid = self._process.pid
        if segment:
            self._snapshots = Snapshots(self._run.fastlane_dir(self._attempt.number), segment.path)
        return True

    def look(self, seconds: float = 0.0) -> bool:
        """Wait at most ``seconds`` for the worker's end and look at everything; whether the attempt is over.

        Raises:
            OSError: it is over, and the last manifest could not be written, whatever was tried.
        """
        assert self._process is not None
        if self._process.wait(seconds):
            self._conclude(self._process.reap())
            return True
        self._watch(self._process)
        return False

    def stop(self, reason: StopReason, sentence: str) -> None:
        """Ask the worker to stop with a checkpoint; it has ``resources.stop_grace`` seconds."""
        if self._stop is None and self._process and not self._process.is_reaped:
            self._ask_to_stop(self._process, reason, sentence)

    def explain_stop(self, reason: StopReason, sentence: str) -> None:
        """It is now known why the worker was asked to stop."""
        self._stop = (reason, sentence)

    def kill(self) -> None:
        """Kill what belongs to the attempt, at the next look."""
        self._kill_at = 0.0

    def abandon(self) -> None:
        """Kill what belongs to the attempt, and write nothing: an error of ours is about to end this process."""
        if self._process and not self._process.is_reaped:
            self._process.reap()
        self._close_snapshots()

    def _close_snapshots(self) -> None:
        if self._snapshots:
            self._snapshots.close()

    def _make_segment(self) -> Segment | None:
        spec = self.manifest.spec.fastlane
        if spec.mode == "off":
            return None
        try:
            return Segment(self.manifest.run_id, self._attempt.number, spec)
        except OSError as error:  # training does not need it
            self._notices.append(f"no live frames: {layout.FOLDER}: {error.strerror or error}")
            return None

    def _watch(self, process: WorkerProcess) -> None:
        """One look at everything."""
        newest = self._fold.checkpoints[-1:]
        self._read_events()
        self._check_requests(process)
        self._check_limits(process)
        if self._snapshots:
            self._snapshots.look()
        kills = _oom_kills()
        self._oom_killed, self._oom_kills = kills > self._oom_kills, kills
        due = time.monotonic() - self._written > MANIFEST_SECONDS
        if due or self._fold.checkpoints[-1:] != newest:
            self._count_use(process.used())
            self._write()
        self._report()

    def _read_events(self, *, final: bool = False) -> None:
        if not self._fold.feed(self._reader.read(final=final)):
            return
        self._heard = time.monotonic()
        if self.manifest.state is State.PROVISIONING:
            self._move(State.RUNNING)
            self._write()

    def _check_requests(self, process: WorkerProcess) -> None:
        if self.superseded():
            process.kill()
        elif self._stop is None and self._run.stop_file(self._attempt.number).exists():
            self._ask_to_stop(process, StopReason.CANCEL, "somebody asked for it to stop")

    def superseded(self) -> bool:
        """Whether another attempt was begun: this machine was taken for dead. What is on disk is the other's now."""
        return self._run.owner_file(self._attempt.number + 1).exists()

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
        self._close_snapshots()
        attempt = self._attempt
        attempt.exit_code, attempt.signal = exit.code, exit.signal
        self._count_use((exit.cpu_seconds, exit.peak_rss_mb))
        oom_killed = self._oom_killed or _oom_kills() > self._oom_kills
        last_words = "".join(self._run.log_tail(attempt.number, lines=1))
        self._end(outcome(exit, self._fold.ending, self._stop, oom_killed=oom_killed, last_words=last_words))

    def _count_use(self, used: tuple[float, float] | None) -> None:
        if used:
            self._attempt.cpu_seconds, self._attempt.peak_rss_mb = used
            self.manifest.resources = _used(self.manifest.attempts)

    def _end(self, end: Outcome) -> None:
        """Write the last manifest, and show it."""
        self._move(end.state)
        attempt = self._attempt
        attempt.state, attempt.ended = end.state, time.time()
        if end.failure:
            attempt.failure = end.failure[0]
            self.manifest.failure = FailureReport(*end.failure, self._run.log_tail(attempt.number))
        if self.superseded():
            return
        self._record()
        self._run.write_manifest(self.manifest, use_reserve=True)
        self._run.release_reserve()
        self._report()

    def _move(self, state: State) -> None:
        self.manifest.state = check_transition(self.manifest.state, state)

    def _write(self) -> None:
        if self.superseded():
            return
        self._record()
        self._written = time.monotonic()
        try:
            self._run.write_manifest(self.manifest)
        except OSError as error:  # the one that matters is the last
            self._notices.append(f"manifest.json could not be written: {error.strerror}")

    def _record(self) -> None:
        record_fold(self.manifest, self._fold, self._skipped_before + self._reader.skipped)

    def _report(self) -> None:
        elapsed = time.monotonic() - self._started
        self._show(Progress(self.manifest.state, self._fold.summary(), elapsed, tuple(self._notices)))
        self._notices.clear()


def _used(attempts: Sequence[Attempt]) -> dict[str, float | None]:
    """CPU time of all attempts together, memory of the one that took most."""
    seconds = [attempt.cpu_seconds for attempt in attempts if attempt.cpu_seconds is not None]
    memory = [attempt.peak_rss_mb for attempt in attempts if attempt.peak_rss_mb is not None]
    return {"cpu_seconds": round(sum(seconds), 3), "peak_rss_mb": max(memory, default=None)}


def _oom_kills() -> int:
    """How many processes the kernel has killed for memory since it started."""
    try:
        found = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
