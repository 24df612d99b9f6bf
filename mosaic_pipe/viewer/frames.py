"""Frames for clients: a WebSocket for the page, multipart JPEG for an ``<img>`` without JavaScript, one to keep.

On the WebSocket a client says what it looks at, ``{"runs": [ID, …], "side": 640, "lane": null}``, and gets one binary
message for each time that it says so: four bytes with the length of a JSON header (big-endian), the header
(``run``, ``token``, ``metrics``, ``note``), and the JPEG, which is empty where ``note`` says why. It asks again when it
has shown it; what came between is never sent.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.viewer.answers import nothing
from mosaic_pipe.viewer.channels import SIDES, Channels, Subject
from mosaic_pipe.viewer.listing import Listing
from mosaic_pipe.viewer.slate import slate
from mosaic_pipe.viewer.watchers import News, Watcher

MAX_CLIENTS = 100
MAX_RUNS = 64
"""That one client can look at."""

STALLED_SECONDS = 10.0
"""A client that takes nothing for so long is gone."""

SNAPSHOT_SECONDS = 3.0

_Lane = Annotated[int, Meta(ge=0, le=63)]


class _Wish(Struct):
    runs: Annotated[list[str], Meta(max_length=MAX_RUNS)]
    side: int = SIDES[1]
    lane: _Lane | None = None


class Frames:
    """Serves the frames of the runs in ``listing``."""

    def __init__(self, listing: Listing, channels: Channels) -> None:
        self._listing, self._channels = listing, channels
        self._clients = 0

    def routes(self) -> list[BaseRoute]:
        """Where they are."""
        return [
            WebSocketRoute("/frames", self.socket),
            Route("/run/{run_id}/frames.mjpeg", self.stream),
            Route("/run/{run_id}/snapshot.jpg", self.snapshot),
        ]

    async def socket(self, client: WebSocket) -> None:
        """Frames for the page."""
        if self._clients >= MAX_CLIENTS:
            await client.close(1013)
            return
        await client.accept()
        self._clients += 1
        try:
            with Watcher(self._channels) as watcher, contextlib.suppress(WebSocketDisconnect):
                await self._serve(client, watcher)
        finally:
            self._clients -= 1

    async def _serve(self, client: WebSocket, watcher: Watcher) -> None:
        wished = asyncio.ensure_future(client.receive_text())
        news: asyncio.Task[News] | None = None
        try:
            while True:
                # Who asks for nothing more is not worth a look: the tab sleeps, or its machine does.
                waiting = {wished} if news is None else {wished, news}
                patience = STALLED_SECONDS if news is None else None
                done, _ = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    watcher.look_at([])
                    await asyncio.wait({wished})
                if wished.done():
                    watcher.look_at(self._wanted(wished.result()))
                    wished = asyncio.ensure_future(client.receive_text())
                    news = news or asyncio.ensure_future(watcher.next())
                if news and news.done():
                    await asyncio.wait_for(client.send_bytes(_packed(news.result())), STALLED_SECONDS)
                    news = None
        except (msgspec.DecodeError, KeyError):
            await client.close(1003)
        except TimeoutError:
            pass
        finally:
            wished.cancel()
            if news:
                news.cancel()

    def _wanted(self, text: str) -> list[tuple[Subject, RunDir]]:
        wish = msgspec.json.decode(text, type=_Wish)
        runs = ((run_id, self._listing.run(run_id)) for run_id in dict.fromkeys(wish.runs))
        return [(Subject(run_id, _side(wish.side), wish.lane), run) for run_id, run in runs if run]

    async def stream(self, request: Request) -> Response:
        """Frames for an ``<img>``."""
        found = self._subject(request)
        if found is None:
            return nothing()
        if self._clients >= MAX_CLIENTS:
            return PlainTextResponse("Too many are watching.\n", 503)
        return _Stream(self, *found)

    async def snapshot(self, request: Request) -> Response:
        """The newest frame, to keep."""
        found = self._subject(request)
        if found is None:
            return nothing()
        note = "no frame came"
        with Watcher(self._channels) as watcher, contextlib.suppress(TimeoutError):
            watcher.look_at([found])
            async with asyncio.timeout(SNAPSHOT_SECONDS):
                while True:
                    _, picture, note = await watcher.next()
                    if picture:
                        name = f"{found[0].run_id}.jpg"
                        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
                        return Response(picture.jpeg, headers=headers, media_type="image/jpeg")
        return PlainTextResponse(f"There is no frame: {note}.\n", 404)

    def _subject(self, request: Request) -> tuple[Subject, RunDir] | None:
        run_id, asked = request.path_params["run_id"], request.query_params
        run = self._listing.run(run_id)
        lane = int(asked["lane"]) if asked.get("lane", "").isdecimal() and len(asked["lane"]) < 3 else None
        side = int(asked["side"]) if asked.get("side", "").isdecimal() and len(asked["side"]) < 6 else SIDES[-1]
        return (Subject(run_id, _side(side), lane), run) if run else None


class _Stream(Response):
    """Pictures one after the other, each in the place of the one before."""

    def __init__(self, frames: Frames, subject: Subject, run: RunDir) -> None:
        super().__init__(media_type="multipart/x-mixed-replace; boundary=frame")
        self._frames, self._subject, self._run = frames, subject, run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client is gone."""
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        self._frames._clients += 1
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._frames._clients -= 1
            sending.cancel()
            leaving.cancel()

    async def _send(self, send: Send) -> None:
        headers = [(b"content-type", b"multipart/x-mixed-replace; boundary=frame"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        body = b"--frame\r\n"
        with Watcher(self._frames._channels) as watcher:
            watcher.look_at([(self._subject, self._run)])
            while True:
                _, picture, note = await watcher.next()
                jpeg = picture.jpeg if picture else await asyncio.to_thread(slate, note)
                # The next boundary comes along: a browser shows a part once it is over.
                body += b"Content-Type: image/jpeg\r\n\r\n" + jpeg + b"\r\n--frame\r\n"
                message = {"type": "http.response.body", "body": body, "more_body": True}
                await asyncio.wait_for(send(message), STALLED_SECONDS)
                body = b""


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _side(pixels: int) -> int:
    return next((side for side in SIDES if side >= pixels), SIDES[-1])


def _packed(news: News) -> bytes:
    subject, picture, note = news
    said = {
        "run": subject.run_id,
        "token": picture.token if picture else 0,
        "metrics": picture.metrics if picture else [],
        "note": note,
    }
    header = msgspec.json.encode(said)
    return len(header).to_bytes(4, "big") + header + (picture.jpeg if picture else b"")
