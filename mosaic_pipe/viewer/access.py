"""Who may ask, before anything else is looked at: the token, the Host, the Origin, and GET alone.

A page somewhere on the web can make this browser send requests here. It cannot read the token; ``SameSite=Strict``
keeps the cookie from its requests; ``Host`` shows where a foreign name was pointed at this machine (DNS rebinding);
``Origin`` shows a WebSocket that a foreign page opened.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
        "style-src 'self'; style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOW_TO_COME_IN = "This page needs the token in the address that `mosaic-pipe view` printed: …/?token=…\n"


class Access:
    """ASGI middleware.

    Args:
        app: what to protect.
        token: what a client has to know.
        hosts: names that this server is called by; loopback's are always right, as any address is where one is given.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str] = ()) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = frozenset((*_LOOPBACK, *(host.lower() for host in hosts)))
        self._any_address = bool(set(self._hosts) - set(_LOOPBACK))
        # Cookies do not know ports: two viewers on one machine would throw each other out.
        self._cookie = f"mosaic_view_{hashlib.sha256(self._token).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(_hostname(host)):
            return PlainTextResponse("This server is not called by that name.\n", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return PlainTextResponse("Not from other pages.\n", 403)
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Read only.\n", 405, {"Allow": "GET, HEAD"})
        return self._token_refusal(scope, headers)

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for key, value in query if key == "token"), None)
        if given is not None and self._is_token(given):
            if scope["type"] == "websocket":
                return None
            return self._into_cookie(scope, [pair for pair in query if pair[0] != "token"])
        if given is None and self._is_token(self._cookie_of(headers)):
            return None
        return PlainTextResponse(_HOW_TO_COME_IN, 403)

    def _into_cookie(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        """The same address without the token, which would stay in the browser's history."""
        path = "/" + scope["path"].lstrip("/\\")  # "//host" would lead there
        url = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
        url.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="strict")
        return url

    def _cookie_of(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="surrogatepass"), self._token)

    def _is_ours(self, host: str) -> bool:
        return host in self._hosts or (self._any_address and _is_address(host))


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return add
