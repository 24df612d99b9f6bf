"""A run from the worker's side: what it counts, what it reports, and when it is asked to stop."""

import faulthandler
import gc
import os
import platform
import signal
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from mosaic_worker.checkpoints import Checkpoints, Write
from mosaic_worker.emitter import Emitter, Payload
from mosaic_worker.errors import EventsLost, Stopped
from mosaic_worker.fastlane.notices import Notices
from mosaic_worker.files import fingerprint
from mosaic_worker.protocol import Event


class Session:
    """Step counts, episodes, metrics and checkpoints of one attempt, written as events.

    A worker calls :meth:`tick` once for every environment step (it is cheap) and the other methods when there is
    something to say. :class:`Stopped` is raised from ``tick`` after a SIGTERM: let it pass. A worker that can be left
    at certain points only calls :meth:`safe_point` there.
    """

    def __init__(
        self, emitter: Emitter, run_dir: Path, *, checkpoint_interval: Optional[int] = None, keep_checkpoints: int = 1
    ) -> None:
        self.run_dir = run_dir
        self.checkpoints = Checkpoints(self, checkpoint_interval, keep_checkpoints)
        self.env_steps = 0
        self.updates: Optional[int] = None
        """Gradient updates, where they are the run's progress: it learns from a dataset and takes no steps."""
        self.wants_safe_point = True
        """:meth:`safe_point` has something to do: it is the first, a stop was asked for, or a checkpoint is due."""
        self.on_safe_point_wanted: Callable[[], None] = lambda: None
        """Called within a tick from which on ``wants_safe_point`` is true."""
        self._stops_at_safe_points = False
        self._wake_at = float("inf")
        self._steps_before = 0
        self._emitter = emitter
        self._followers: List[Callable[[str, Payload], None]] = []
        self._notices = Notices()
        self._beats = 0
        self._signs = 0
        self._started = time.monotonic()
        self._first_step_at: Optional[float] = None
        self._last_step_at: Optional[float] = None
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
        return {**self.counts(), "wall_time": round(now - self._started, 6), "sps": self._sps(now)}

    def counts(self) -> Payload:
        """How far training is: ``env_steps``; where a run learns from a dataset, ``updates`` too."""
        return {"env_steps": self.env_steps, **({} if self.updates is None else {"updates": self.updates})}

    @property
    def progress(self) -> int:
        """Of the budget: environment steps, or updates."""
        return self.env_steps if self.updates is None else self.updates

    def continue_from(self, env_steps: int, updates: Optional[int] = None) -> None:
        """Training goes on after ``env_steps`` steps of an earlier run; they do not count into ``sps``."""
        self.env_steps = self._steps_before = env_steps
        self.updates = updates
        self.checkpoints.start_at(self.progress)

    def tick(self, steps: int = 1) -> None:
        """``steps`` environment steps of training were taken; the first call starts the clock of ``sps``.

        Raises:
            Stopped: the supervisor asked for it; the worker's state is as the loop left it.
            EventsLost: a heartbeat could not be written.
        """
        self.env_steps += steps
        if self._attention or self.env_steps >= self._wake_at:
            self._attend()

    def update(self) -> None:
        """A gradient update was made from a dataset, in place of :meth:`tick`."""
        self.updates = (self.updates or 0) + 1
        if self._attention or self.updates >= self._wake_at:
            self._attend()

    def training_ended(self) -> None:
        """The last step was taken; how long saving and evaluating take after it does not count into ``sps``."""
        self._last_step_at = self._last_step_at or time.monotonic()

    def aside(self) -> None:
        """A step was taken that is none of training's, in an evaluation that training waits for.

        Raises:
            Stopped: the supervisor asked for it; training is as it was when it began to wait.
            EventsLost: a heartbeat could not be written.
        """
        self._signs += 1
        if self._events_lost:
            raise self._events_lost
        if self._stop_requested:
            raise Stopped

    def safe_point(self, write: Write) -> None:
        """Training can be left here and taken up again; from the first one on it stops nowhere else.

        A checkpoint that is due is saved by ``write``. Where safe points are many, ``wants_safe_point`` tells whether
        this one matters.

        Raises:
            Stopped: the supervisor asked for it.
        """
        self._stops_at_safe_points = True
        if self._stop_requested:
            raise Stopped
        if self.progress >= self.checkpoints.due_at:
            self.checkpoints.save(write)
        self._wake_at = self.checkpoints.due_at
        self.wants_safe_point = False

    def episode(
        self, episode_return: float, episode_length: int, *, agent_returns: Optional[Dict[str, float]] = None
    ) -> None:
        """A training episode ended: undiscounted raw return, length in steps of its environment.

        Where several agents act, ``agent_returns`` has the return of each, and ``episode_return`` is their sum.
        """
        self.emit(Event.EPISODE, self._played(episode_return, episode_length, agent_returns))

    def eval_episode(
        self, episode_return: float, episode_length: int, *, agent_returns: Optional[Dict[str, float]] = None
    ) -> None:
        """An episode of an evaluation ended; it never counts as one of training."""
        self.emit(Event.EVAL_EPISODE, self._played(episode_return, episode_length, agent_returns))

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

    def checkpoint_saved(self, path: Path, replaced: Sequence[Path] = ()) -> None:
        """A checkpoint was written at ``path``, inside the run directory, and older ones were deleted for it."""
        payload: Payload = {"path": self._inside(path), **self.counts(), **fingerprint(path)}
        if replaced:
            payload["replaced"] = [self._inside(old) for old in replaced]
        self.emit(Event.CHECKPOINT_SAVED, payload)

    def checkpoint_loaded(self, path: Path, env_steps: int) -> None:
        """Training goes on from, or a policy was read from, the checkpoint at ``path``."""
        self.emit(Event.CHECKPOINT_LOADED, {"path": str(path), "env_steps": env_steps})

    def stage_started(
        self, index: int, env_id: str, *, reason: Optional[str] = None, name: Optional[str] = None
    ) -> None:
        """A stage of a curriculum, or a named phase, begins; ``reason``: the condition that ended the one before."""
        payload: Payload = {"index": index, "env_id": env_id, "env_steps": self.env_steps, "reason": reason}
        self.emit(Event.STAGE_STARTED, {**payload, "name": name} if name else payload)

    def artifact(self, kind: str, path: Path, url: Optional[str] = None) -> None:
        """A file or directory of interest at ``path``, inside the run directory, and on the web."""
        payload = {"kind": kind, "path": self._inside(path)}
        self.emit(Event.ARTIFACT, {**payload, "url": url} if url else payload)

    def warning(self, message: str) -> None:
        """Something that the user should know, and that does not end the run."""
        self.emit(Event.WARNING, {"message": message})

    def relay(self) -> None:
        """Report the warnings that other processes of the run, or its cameras, have left. Called from any thread."""
        for message in self._notices.new():
            self.warning(message)

    def emit(self, event: str, payload: Payload) -> None:
        """Any event; the methods above are the usual ones."""
        self._emitter.emit(event, payload)
        for follower in self._followers:
            follower(event, payload)

    def follow(self, follower: Callable[[str, Payload], None]) -> None:
        """Tell ``follower`` of every event from now on, but heartbeats."""
        self._followers.append(follower)

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
        return self.env_steps + (self.updates or 0) + self._emitter.seq + self._signs - self._beats

    def _played(self, episode_return: float, episode_length: int, agent_returns: Optional[Dict[str, float]]) -> Payload:
        payload = {"env_steps": self.env_steps, "episode_return": episode_return, "episode_length": episode_length}
        payload["wall_time"] = round(time.monotonic() - self._started, 6)
        return payload if agent_returns is None else {**payload, "agent_returns": agent_returns}

    def _inside(self, path: Path) -> str:
        return str(path.relative_to(self.run_dir))

    def _attend(self) -> None:
        if self._first_step_at is None:
            gc.freeze()  # a library's hundreds of thousands of objects live to the end: no collection need visit them
            self._first_step_at = time.monotonic()
        self._attention = False
        if self._events_lost:
            raise self._events_lost
        self.send_metrics()
        if self.progress >= self._wake_at:
            self._wake_at, self.wants_safe_point = float("inf"), True
        if self.wants_safe_point:
            self.on_safe_point_wanted()
        if self._stop_requested and not self._stops_at_safe_points:
            self._attention = True  # a library that swallows the exception is asked again
            raise Stopped

    def _sps(self, now: float) -> float:
        """Environment steps a second, from the first one to the last."""
        elapsed = (self._last_step_at or now) - (self._first_step_at or now)
        return round((self.env_steps - self._steps_before) / elapsed, 3) if elapsed > 0 else 0.0

    def _request_stop(self, *_: Any) -> None:
        self._stop_requested = self._attention = self.wants_safe_point = True
