"""The page's own files, by name, out of the package: read once, never by a path from a client."""

from __future__ import annotations

import functools
import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

PLOTLY = "plotly.min.js"
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}


@dataclass(frozen=True)
class _File:
    content: bytes
    packed: bytes
    type_: str
    tag: str


@functools.cache
def _all() -> dict[str, str]:
    """Names and packages of what may be asked for."""
    ours = [entry.name for entry in files("mosaic_pipe.viewer").joinpath("static").iterdir()]
    found = {name: "static" for name in ours if name.rpartition(".")[2] in _TYPES and not name.endswith(".html")}
    return found | {PLOTLY: "plotly"}


@functools.cache
def _read(name: str) -> _File:
    if name == PLOTLY:
        content = files("plotly").joinpath("package_data", PLOTLY).read_bytes()
    else:
        content = files("mosaic_pipe.viewer").joinpath("static", name).read_bytes()
    packed = gzip.compress(content, 6, mtime=0)
    return _File(content, packed, _TYPES[name.rpartition(".")[2]], f'"{hashlib.sha256(content).hexdigest()[:16]}"')


def shell() -> str:
    """The HTML that every page starts as."""
    return files("mosaic_pipe.viewer").joinpath("static", "index.html").read_text(encoding="utf-8")


def serve_file(request: Request) -> Response:
    """One of the page's files."""
    name = request.path_params["name"]
    if name not in _all():
        return PlainTextResponse("There is nothing here.\n", 404)
    file = _read(name)
    headers = {"ETag": file.tag, "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=file.type_)
    return Response(file.content, headers=headers, media_type=file.type_)
