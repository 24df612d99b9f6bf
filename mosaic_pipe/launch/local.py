"""Many runs on this machine: as many at once as fit, each on its own cores, all supervised by this process."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.launch.attempt import begin_attempt, disk_error
from mosaic_pipe.launch.fork_servers import ForkServers
from mosaic_pipe.launch.machine import Held, Machine
from mosaic_pipe.launch.preparation import Prepared
from mosaic_pipe.store.attempts import this_owner
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.retry import worth_retrying
from mosaic_pipe.store.runs import Runs, next_attempt
from mosaic_pipe.store.states import State
from mosaic_pipe.supervise.outcome import StopReason
from mosaic_pipe.supervise.signals import StopRequests
from mosaic_pipe.supervise.start import Spawn, spawn
from mosaic_pipe.supervise.supervisor import POLL_SECONDS, Progress, Supervisor

_IDLE_SECONDS = 0.5


class LocalSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How points are run here; ``n_jobs``: at most so many at once, None: as many as fit."""

    n_jobs: Annotated[int, msgspec.Meta(ge=1)] | None = None
    fail_fast: bool = False


@dataclass
class Board:
    """Where a launcher stands."""

    total: int
    ended: list[Manifest] = field(default_factory=list)
    elsewhere: int = 0
    """Points that somebody else runs, or has completed meanwhile."""
    running: dict[str, tuple[Prepared, Progress]] = field(default_factory=dict)
    """By run id."""
    notices: list[str] = field(default_factory=list)
    """What just happened, for the user; taken off by whoever shows it."""


Show = Callable[[Board], None]


@dataclass
class _Running:
    prepared: Prepared
    supervisor: Supervisor
    held: Held


class LocalLauncher:
    """Runs points until all have ended, or somebody asks it to stop."""

    def __init__(self, points: Sequence[Prepared], output_dir: Path, settings: LocalSettings, show: Show) -> None:
        """``show`` is called several times a second.

        Raises:
            SpecError: a point asks for more than this machine has.
        """
        self._waiting = list(points)
        self._since = time.time()
        self._runs = Runs(output_dir)
        self._settings, self._show = settings, show
        self._machine = Machine()
        self._fork_servers = ForkServers(points)
        self._running: list[_Running] = []
        self._stopping = ""
        self._error: UserError | None = None
        self.board = Board(len(points))
        for point in points:
            self._machine.check(point.spec.resources, point.memory_mb)

    def run(self, stop_file: Path) -> Board:
        """Run the points; a file at ``stop_file`` asks to stop, as Ctrl-C does.

        Raises:
            UserError: a run's directory could not be written.
        """
        with StopRequests() as requests:
            try:
                while self._running or (self._waiting and not self._stopping):
                    self._heed(requests.count, stop_file)
                    if not self._stopping:
                        self._start_what_fits()
                    self._look_after()
                    self._show(self.board)
            finally:
                for one in self._running:  # an error of ours, or a disk that takes nothing
                    one.supervisor.abandon()
                self._fork_servers.close()
        if self._error:
            raise self._error
        return self.board

    def _heed(self, requests: int, stop_file: Path) -> None:
        if requests > 1:
            for one in self._running:
                one.supervisor.kill()
        elif not self._stopping and (requests or stop_file.exists()):
            self._stop("stopping with checkpoints; press Ctrl-C again to kill")

    def _stop(self, sentence: str) -> None:
        self._stopping = sentence
        self.board.notices.append(sentence)
        for one in self._running:
            one.supervisor.stop(StopReason.CANCEL, sentence)

    def _start_what_fits(self) -> None:
        full: set[tuple[object, int]] = set()
        for point in list(self._waiting):
            if self._settings.n_jobs is not None and len(self._running) >= self._settings.n_jobs:
                return
            needs = (point.spec.resources, point.memory_mb)
            server = self._fork_servers.server_of(point)
            if needs in full or (server and server.is_importing()):
                continue
            held = self._machine.take(*needs)
            if held is None:
                full.add(needs)
                continue
            self._waiting.remove(point)
            self._start(point, held, server.spawn if server else spawn)

    def _start(self, point: Prepared, held: Held, spawn: Spawn) -> None:
        run = self._runs.new(point.spec.run_id)
        number = next_attempt(run, since=self._since)

        def show(progress: Progress) -> None:
            self.board.running[point.spec.run_id] = (point, progress)

        begun = None
        try:
            begun = begin_attempt(point, run, number, this_owner(), held.share, show, spawn) if number else None
        except UserError as error:
            self._error = error
            self.board.notices.append(str(error))
            if error.exit_code == Exit.DISK_FULL:  # it is full for the next one too
                self._stop("stopping the others with checkpoints")
        if begun is None:
            self._machine.give_back(held)
            self.board.elsewhere += 1
            return
        one = _Running(point, begun, held)
        self._running.append(one)
        if begun.manifest.state.is_final:
            self._ended(one)

    def _look_after(self) -> None:
        poll = select.poll()
        for one in self._running:
            poll.register(one.supervisor.process_fd, select.POLLIN)
        for server in self._fork_servers.importing():
            poll.register(server, select.POLLIN)
        poll.poll((POLL_SECONDS if self._running else _IDLE_SECONDS) * 1000)
        for one in list(self._running):
            try:
                if one.supervisor.look():
                    self._ended(one)
            except OSError as error:
                run = self._runs.new(one.prepared.spec.run_id)
                self._error = disk_error(error, run, "the end of the run could not be written")
                self._stop(str(self._error))
                self._ended(one)

    def _ended(self, one: _Running) -> None:
        self._running.remove(one)
        self._machine.give_back(one.held)
        self.board.running.pop(one.prepared.spec.run_id, None)
        manifest = one.supervisor.manifest
        if not self._stopping and worth_retrying(manifest):
            assert manifest.failure is not None
            self.board.notices.append(f"{manifest.spec.title()}: {manifest.failure.class_}, trying again")
            self._waiting.append(one.prepared)
            return
        self.board.ended.append(manifest)
        if self._settings.fail_fast and manifest.state is not State.COMPLETED and not self._stopping:
            self._stop(f"{manifest.spec.title()} is {manifest.state}: stopping the others (fail_fast)")
