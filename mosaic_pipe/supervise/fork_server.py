"""Worker processes that are forked instead of started: the library is imported once for many runs."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic_worker.protocol import ENV_TOKEN

from mosaic_pipe.base.linux import become_subreaper, die_with_parent
from mosaic_pipe.supervise import guard
from mosaic_pipe.supervise.start import Start, spawn

_IMPORT_SECONDS = 120.0
_ANSWER_SECONDS = 10.0
_SAID_BYTES = 2**16


class ForkServer:
    """A worker's fork server (see ``mosaic_worker.fork_server``), which dies with this process.

    Where it cannot be had, or is lost, its workers are started afresh: that takes longer, and is all the difference.
    """

    def __init__(self, program: Sequence[str], variables: Mapping[str, str]) -> None:
        """Start it.

        Args:
            program: what starts a worker, without its arguments.
            variables: the environment of its imports.

        Raises:
            OSError: it could not be started.
        """
        become_subreaper()
        token = secrets.token_hex(16)
        self._token = f"{ENV_TOKEN}={token}"
        self._connection, theirs = socket.socketpair()
        self._connection.setblocking(False)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - close closes it
        with theirs:
            self._process = subprocess.Popen(
                [*program, "--fork-server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                cwd=Path(program[0]).parent,
                env={**variables, ENV_TOKEN: token},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        self.pid = self._process.pid
        self._deadline = time.monotonic() + _IMPORT_SECONDS
        self._imported = self._closed = False

    def fileno(self) -> int:
        """A descriptor that becomes readable when it has imported the library."""
        return self._connection.fileno()

    def is_importing(self) -> bool:
        """Whether it is not ready yet."""
        if self._imported or self._closed:
            return False
        try:
            self._imported = self._connection.recv(1) == b"\n"
        except BlockingIOError:
            if time.monotonic() < self._deadline:
                return True
        if not self._imported:
            self.close()
        return False

    def spawn(self, start: Start) -> int:
        """A new process: see :data:`mosaic_pipe.supervise.start.Spawn`.

        Raises:
            OSError: it could not be started.
        """
        if not self._closed:
            try:
                return self._fork(start)
            except OSError:
                self.close()
        return spawn(start)

    def close(self) -> None:
        """End it; the workers that it has forked go on."""
        if not self._closed:
            self._closed = True
            self._connection.close()
            guard.kill_attempt(self._token, self._process.pid)
            self._process.wait()
            self._said.close()

    def _fork(self, start: Start) -> int:
        start.events.touch()
        with start.log.open("ab") as log:  # what the imports said belongs there too
            log.write(os.pread(self._said.fileno(), _SAID_BYTES, 0))
        request = {
            "arguments": start.arguments,
            "variables": dict(start.variables),
            "cores": sorted(start.cores or ()),
            "folder": str(start.folder),
            "events": str(start.events),
            "log": str(start.log),
        }
        self._connection.settimeout(_ANSWER_SECONDS)
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            more = self._connection.recv(64)
            if not more:
                raise ConnectionError("the fork server has ended")
            answer += more
        return int(answer)
