"""Serving the viewer until Ctrl-C. With nobody looking the process sleeps; uvicorn alone wakes ten times a second."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from mosaic_pipe.base.errors import UserError

_OURS = "--host takes an address of this machine"

_SEND_BUFFER = 256 * 1024
"""Bytes that the kernel holds for a slow client; what is in there is old by the time that it arrives."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on ``host``, at any free port where ``port`` is 0.

    Raises:
        UserError: the port is in use, or not ours to take, or there is no such host.
    """
    where = f"{host}:{port}"
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise UserError("there is no such address", where=where, hint=_OURS) from error
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    try:
        found.bind(address)
        found.listen(128)
    except (OSError, OverflowError) as error:
        found.close()
        raise _refused(error, where) from error
    return found


def _refused(error: Exception, where: str) -> UserError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return UserError("the port is in use", where=where, hint="without --port a free one is taken")
    if number == errno.EADDRNOTAVAIL:
        return UserError("this machine has no such address", where=where, hint=_OURS)
    return UserError(f"cannot listen there: {error}", where=where, hint="without --port a free one is taken")


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve ``app`` until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="websockets-sansio",
        ws_max_size=16 * 1024,
        ws_ping_interval=5.0,
        ws_ping_timeout=5.0,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=400,
        timeout_graceful_shutdown=1,
    )
    with asyncio.Runner() as runner:
        runner.run(_Server(config).serve([listener]))


class _Server(uvicorn.Server):
    """Sleeps until a signal comes."""

    async def main_loop(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await self.on_tick(0)
        await stop.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
