"""``mosaic-pipe view``: runs in a browser."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlencode

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.cli.own import with_output_dir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.sweeps import Sweeps

TOKEN = "MOSAIC_VIEW_TOKEN"  # noqa: S105  a name
_SHORTEST = 8
_NEEDED = ("starlette", "uvicorn", "websockets", "PIL", "plotly")


def main(arguments: Sequence[str]) -> int:
    """Serve the viewer until Ctrl-C; returns the exit code.

    Raises:
        UserError: there is nothing of that name, the port is in use, or the extra ``view`` is not installed.
    """
    options = _parser().parse_args(arguments)
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        hint = "pip install 'mosaic-pipe[view]'"
        raise UserError(f"the viewer needs packages that are not installed: {', '.join(missing)}", hint=hint)
    token = _token(options.token)
    path = _path(options.what, options.output_dir)
    from mosaic_pipe.viewer.app import make_app
    from mosaic_pipe.viewer.server import listen, serve

    with listen(options.host, options.port) as listener:
        app = make_app(options.output_dir, token, _names(options.host))
        _tell(_url(listener, options.host, path, token), listener.getsockname()[1])
        serve(app, listener)
    return Exit.OK


def _parser() -> argparse.ArgumentParser:
    description = "Show runs in a browser: states, curves, live frames. It reads only. Ctrl-C ends it."
    parents = [with_output_dir()]
    parser = argparse.ArgumentParser(prog="mosaic-pipe view", description=description, parents=parents)
    what = "a sweep's name, or a run: id, unique prefix of one, or last (default: the list of all)"
    parser.add_argument("what", nargs="?", metavar="RUN|SWEEP", help=what)
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    token = f"what the address has to hold (default: ${TOKEN}, else a new random one each time)"
    parser.add_argument("--token", help=token)
    return parser


def _token(given: str | None) -> str:
    """The token that the user chose, or a random one.

    Raises:
        UserError: it is too short, or no cookie can hold it.
    """
    where = "--token" if given is not None else TOKEN
    token = given if given is not None else os.environ.get(TOKEN)
    if token is None:
        return secrets.token_urlsafe(24)
    if not re.fullmatch(rf"[A-Za-z0-9._~-]{{{_SHORTEST},200}}", token):
        hint = f"at least {_SHORTEST} letters, digits and -._~; it cannot be switched off"
        raise UserError("this is no token", where=where, hint=hint)
    return token


def _path(what: str | None, output_dir: Path) -> str:
    """Where in the viewer the user wants to be."""
    if what is None:
        return "/"
    if what in Sweeps(output_dir).names():
        return f"/sweep/{quote(what)}"
    try:
        return f"/run/{Runs(output_dir).find(what).path.name}"
    except UserError as error:
        where = f"runs and sweeps in {output_dir}"
        raise UserError(f"{error.what}, and no sweep of that name", where=where, hint=error.hint) from error


def _names(host: str) -> list[str]:
    """What this machine is called by those who may come, where not only itself may."""
    if host in ("127.0.0.1", "localhost", "::1"):
        return []
    return [host, socket.gethostname(), socket.getfqdn()]


def _url(listener: socket.socket, host: str, path: str, token: str) -> str:
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104  recognised, not chosen
    netloc = f"[{shown}]" if ":" in shown else shown
    return f"http://{netloc}:{listener.getsockname()[1]}{path}?{urlencode({'token': token})}"


def _tell(url: str, port: int) -> None:
    print(url, flush=True)
    if "SSH_CONNECTION" in os.environ:
        machine = socket.gethostname()
        print(f"from your own machine: ssh -L {port}:localhost:{port} {machine}, then this address", file=sys.stderr)
    print("Ctrl-C ends the viewer; the runs go on.", file=sys.stderr)
