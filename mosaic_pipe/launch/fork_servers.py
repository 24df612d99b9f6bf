"""Which runs of a sweep are forked from which server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mosaic_pipe.launch.preparation import Prepared
from mosaic_pipe.supervise.fork_server import ForkServer
from mosaic_pipe.supervise.start import worker_program, worker_variables

_Kind = tuple[tuple[str, ...], frozenset[tuple[str, str]]]
"""What an import can tell apart: the program, and its environment variables."""


class ForkServers:
    """A fork server for each kind of worker process that several points want."""

    def __init__(self, points: Iterable[Prepared]) -> None:
        self._wanted = Counter(map(_kind, points))
        self._servers: dict[_Kind, ForkServer | None] = {}

    def server_of(self, point: Prepared) -> ForkServer | None:
        """The server for the worker of ``point``, started if need be; None where there is none, or it would not pay."""
        kind = _kind(point)
        if not point.worker.capabilities.preload or self._wanted[kind] < 2:
            return None
        if kind not in self._servers:
            self._servers[kind] = _server(*kind)
        return self._servers[kind]

    def importing(self) -> list[ForkServer]:
        """Those that are not ready yet."""
        return [server for server in self._servers.values() if server and server.is_importing()]

    def close(self) -> None:
        """End all of them."""
        for server in self._servers.values():
            if server:
                server.close()


def _server(program: tuple[str, ...], variables: frozenset[tuple[str, str]]) -> ForkServer | None:
    try:
        return ForkServer(program, dict(variables))
    except OSError:  # the workers will say what is wrong
        return None


def _kind(point: Prepared) -> _Kind:
    variables = worker_variables(point.spec, point.environment, gpus=())  # imports do not look at GPUs
    return tuple(worker_program(point.worker, point.environment)), frozenset(variables.items())
