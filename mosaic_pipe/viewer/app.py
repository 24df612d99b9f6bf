"""The viewer as an ASGI application."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.types import ASGIApp

from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.sweeps import Sweeps
from mosaic_pipe.viewer.access import Access
from mosaic_pipe.viewer.api import Api
from mosaic_pipe.viewer.channels import Channels
from mosaic_pipe.viewer.frames import Frames
from mosaic_pipe.viewer.pages import Pages


def make_app(output_dir: Path, token: str, hosts: Iterable[str] = (), channels: Channels | None = None) -> ASGIApp:
    """The viewer of ``output_dir``.

    Args:
        output_dir: holds runs and sweeps; it may be empty, or not exist yet.
        token: what a client has to know.
        hosts: names of this server, where it listens on more than loopback.
        channels: where live pictures come from.
    """
    api = Api(Runs(output_dir), Sweeps(output_dir))
    frames = Frames(api.listing, channels or Channels())
    routes = [*Pages(api.listing, api.sweeps).routes(), *api.routes(), *frames.routes()]
    return Access(Starlette(routes=routes), token, hosts)
