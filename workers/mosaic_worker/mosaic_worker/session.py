"""A run from the worker's side: what it counts, what it reports, and when it is asked to stop."""

import faulthandler
import os
import platform
import signal
import time
from pathlib import Path
from typing import Any, Dict, Optional

from mosaic_worker.emitter import Emitter, Payload
from mosaic_worker.errors import EventsLost, Stopped
from mosaic_worker.files import fingerprint
from mosaic_worker.protocol import Event


class Session:
    """Step counts, episodes, metrics and checkpoints of one attempt, written as events.

    A worker calls :meth:`tick` once for every environment step (it is cheap) and the other methods when there is
    something to say. :class:`Stopped` is raised from ``tick`` after a SIGTERM: let it pass.
    """

    def __init__(self, emitter: Emitter, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.env_steps = 0
        self._emitter = emitter
        self._beats = 0
        self._signs = 0
        self._started = time.monotonic()
        self._first_step_at: Optional[float] = None
        self._metrics: Dict[str, Any] = {}
        self._metrics_step = 0
        self._stop_requested = False
        self._events_lost: Optional[EventsLost] = None
        self._attention = True  # the first step, a stop request, unsent metrics: the only thing that tick looks at

    def listen(self) -> None:
        """Take SIGTERM and SIGINT as requests to stop; survive SIGUSR2, which Slurm sends to every process of a job."""
        for request in (signal.SIGTERM, signal.SIGINT):
            signal.signal(request, self._request_stop)
        faulthandler.register(signal.SIGUSR1)  # the supervisor asks a hung worker where it hangs
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)

    def started(self, **facts: Any) -> None:
        """The process is up; called before the library is imported."""
        self.emit(Event.RUN_STARTED, {"pid": os.getpid(), "python": platform.python_version(), **facts})

    def summary(self) -> Payload:
        """Totals so far, under their canonical names."""
        now = time.monotonic()
        return {"env_steps": self.env_steps, "wall_time": round(now - self._started, 6), "sps": self._sps(now)}

    def tick(self, steps: int = 1) -> None:
        """``steps`` environment steps of training were taken; the first call starts the clock of ``sps``.

        Raises:
            Stopped: the supervisor asked for it; the worker's state is as the loop left it.
            EventsLost: a heartbeat could not be written.
        """
        self.env_steps += steps
        if self._attention:
            self._attend()

    def episode(self, episode_return: float, episode_length: int) -> None:
        """A training episode ended: undiscounted raw return, length in steps of its environment."""
        payload = {"env_steps": self.env_steps, "episode_return": episode_return, "episode_length": episode_length}
        payload["wall_time"] = round(time.monotonic() - self._started, 6)
        self.emit(Event.EPISODE, payload)

    def metric(self, name: str, value: Any, step: int) -> None:
        """A number under the library's own name at its step; those of one step become one ``metrics`` event."""
        if step != self._metrics_step:
            self.send_metrics()
        self._metrics_step = step
        self._metrics[name] = value
        self._attention = True

    def send_metrics(self) -> None:
        """Emit the metrics that wait, beside the canonical ones."""
        if not self._metrics:
            return
        payload = {**self.summary(), **self._metrics}
        self._metrics = {}
        self.emit(Event.METRICS, payload)

    def checkpoint_saved(self, path: Path) -> None:
        """A checkpoint was written at ``path``, inside the run directory."""
        place = {"path": str(path.relative_to(self.run_dir)), "env_steps": self.env_steps}
        self.emit(Event.CHECKPOINT_SAVED, {**place, **fingerprint(path)})

    def artifact(self, kind: str, path: Path) -> None:
        """A file or directory of interest at ``path``, inside the run directory."""
        self.emit(Event.ARTIFACT, {"kind": kind, "path": str(path.relative_to(self.run_dir))})

    def warning(self, message: str) -> None:
        """Something that the user should know, and that does not end the run."""
        self.emit(Event.WARNING, {"message": message})

    def emit(self, event: str, payload: Payload) -> None:
        """Any event; the methods above are the usual ones."""
        self._emitter.emit(event, payload)

    def alive(self) -> None:
        """The training loop lives, and has nothing to report."""
        self._signs += 1

    def beat(self, payload: Payload) -> None:
        """A heartbeat; it does not count as a sign of life."""
        self._beats += 1
        self._emitter.emit(Event.HEARTBEAT, payload)

    def give_up(self, error: EventsLost) -> None:
        """Events cannot be written: raise ``error`` in the training loop. Called from another thread."""
        self._events_lost, self._attention = error, True

    def life(self) -> int:
        """A number that changes whenever the training loop shows life."""
        return self.env_steps + self._emitter.seq + self._signs - self._beats

    def _attend(self) -> None:
        if self._first_step_at is None:
            self._first_step_at = time.monotonic()
        self._attention = False
        if self._events_lost:
            raise self._events_lost
        self.send_metrics()
        if self._stop_requested:
            self._attention = True  # a library that swallows the exception is asked again
            raise Stopped

    def _sps(self, now: float) -> float:
        """Environment steps a second since the first one."""
        elapsed = now - (self._first_step_at or now)
        return round(self.env_steps / elapsed, 3) if elapsed > 0 else 0.0

    def _request_stop(self, *_: Any) -> None:
        self._stop_requested = self._attention = True
