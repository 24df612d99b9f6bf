"""JSON answers that a browser need not fetch again while they are the same."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_HEADERS = {"Cache-Control": "private, no-cache"}


def answer(request: Request, value: Any) -> Response:
    """``value`` as JSON; 304 where the client has it already. NaN and infinities become null."""
    content = msgspec.json.encode(value)
    tag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    headers = _HEADERS | {"ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def nothing() -> Response:
    """There is no such run, sweep or page."""
    return PlainTextResponse("There is nothing here.\n", 404)
