"""Live pictures: the newest one, at once for all, and nothing for those who do not look."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient
from view_tests import SOCKET, TOKEN, AddRun

from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.viewer.app import make_app
from mosaic_pipe.viewer.channels import Channels, Subject
from mosaic_pipe.viewer.watchers import Watcher
from mosaic_pipe.watch.live import Picture


class Projector:
    """What is seen of a run: a new picture each time, while somebody wants them."""

    opened: list[Projector] = []  # noqa: RUF012  one list for all

    def __init__(self, run: RunDir) -> None:
        self.made, self.wished, self.closed, self.said = 0, 0.0, False, ""
        self.threads: set[int] = set()
        self.opened.append(self)

    def want(self, lane: int | None = None) -> None:
        self.wished = time.monotonic()

    def picture(self, after: int = 0, side: int | None = None, lane: int | None = None) -> Picture | None:
        self.threads.add(threading.get_ident())
        if self.said:
            return None
        self.made += 1
        return Picture(self.made, b"jpeg %d" % self.made, [{"lane": lane, "side": side}])

    def note(self, lane: int | None = None) -> str:
        return self.said

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    Projector.opened.clear()
    app = make_app(tmp_path, TOKEN, channels=Channels(Projector))
    with TestClient(app, base_url="http://localhost:8080") as client:
        client.get("/", params={"token": TOKEN})
        yield client


def take(message: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(message[:4], "big")
    return msgspec.json.decode(message[4 : 4 + length]), message[4 + length :]


def wait_until(what: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_who_asks_gets_the_newest_picture_and_one_alone(client: TestClient, add: AddRun) -> None:
    run_id = add().path.name
    with client.websocket_connect(SOCKET) as socket:
        socket.send_json({"runs": [run_id], "side": 500, "lane": 2})
        header, jpeg = take(socket.receive_bytes())
        assert (header["run"], header["metrics"]) == (run_id, [{"lane": 2, "side": 640}])
        assert jpeg == b"jpeg %d" % header["token"]
        projector = Projector.opened[0]
        before = projector.made
        wait_until(lambda: projector.made > before + 5)  # nobody asks; for a while it goes on
        socket.send_json({"runs": [run_id], "side": 500, "lane": 2})
        assert take(socket.receive_bytes())[0]["token"] > before + 5
    wait_until(lambda: projector.closed)
    assert len(Projector.opened) == 1


def test_who_stops_asking_keeps_nothing_alive(client: TestClient, add: AddRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mosaic_pipe.viewer.frames.STALLED_SECONDS", 0.2)
    run_id = add().path.name
    with client.websocket_connect(SOCKET) as socket:
        socket.send_json({"runs": [run_id]})
        socket.receive_bytes()
        wait_until(lambda: Projector.opened[0].closed)
        socket.send_json({"runs": [run_id]})
        assert take(socket.receive_bytes())[1]
        assert len(Projector.opened) == 2


def test_why_there_is_nothing_to_see(client: TestClient, add: AddRun) -> None:
    run_id = add().path.name
    with client.websocket_connect(SOCKET) as socket:
        socket.send_json({"runs": [run_id]})
        take(socket.receive_bytes())
        Projector.opened[0].said = "the run has ended"
        while True:
            socket.send_json({"runs": [run_id]})
            header, jpeg = take(socket.receive_bytes())
            if header["note"]:
                break
        assert (header["note"], jpeg) == ("the run has ended", b"")


def test_a_wall_gives_each_run_its_turn(client: TestClient, add: AddRun) -> None:
    ids = [add().path.name for _ in range(5)]
    with client.websocket_connect(SOCKET) as socket:
        found = []
        for _ in range(20):
            socket.send_json({"runs": ids, "side": 320})
            found.append(take(socket.receive_bytes())[0]["run"])
    assert set(found) == set(ids)
    wait_until(lambda: all(projector.closed for projector in Projector.opened))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "x" * 1000, '{"runs":["../.."]', '{"runs":5}', '{"runs":[],"lane":-1}', '{"runs":[],"lane":1e99}'],
)
def test_nonsense_ends_the_connection_and_nothing_else(client: TestClient, text: str) -> None:
    from starlette.websockets import WebSocketDisconnect

    with client.websocket_connect(SOCKET) as socket, pytest.raises(WebSocketDisconnect):
        socket.send_text(text)
        socket.receive_bytes()
    assert client.get("/").status_code == 200


def test_runs_that_do_not_exist_are_not_looked_at(client: TestClient, tmp_path: Path) -> None:
    with client.websocket_connect(SOCKET) as socket:
        socket.send_json({"runs": ["..", "../..", str(tmp_path), "0" * 26]})
        time.sleep(0.2)
        assert Projector.opened == []


def test_twenty_viewers_share_one_look(add: AddRun, tmp_path: Path) -> None:
    run = add()
    Projector.opened.clear()

    async def look() -> list[int]:
        channels = Channels(Projector)

        async def view() -> int:
            with Watcher(channels) as watcher:
                watcher.look_at([(Subject(run.path.name, 640), run)])
                seen = [await watcher.next() for _ in range(10)]
            tokens = [picture.token for _, picture, _ in seen if picture]
            assert tokens == sorted(set(tokens))
            return len(tokens)

        found = await asyncio.gather(*(view() for _ in range(20)))
        await asyncio.sleep(0.2)
        return found

    assert asyncio.run(look()) == [10] * 20
    (projector,) = Projector.opened
    assert projector.closed
    assert projector.made < 40
    assert threading.get_ident() not in projector.threads


def test_an_image_element_gets_a_stream(client: TestClient, add: AddRun) -> None:
    run_id = add().path.name
    parts = _stream(make_app(add().path.parent.parent, TOKEN, channels=Channels(Projector)), run_id, 3)
    assert parts[0].startswith(b"--frame\r\nContent-Type: image/jpeg\r\n\r\njpeg ")
    assert all(part.endswith(b"\r\n--frame\r\n") for part in parts)
    assert client.get(f"/run/{run_id}").text.count(f'<img src="/run/{run_id}/frames.mjpeg"') == 1


def _stream(app: Any, run_id: str, parts: int) -> list[bytes]:
    """The first parts of a stream, whose client then goes away."""
    found: list[bytes] = []

    async def run() -> None:
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                found.append(message["body"])
            if len(found) == parts:
                gone.set()

        scope = {
            "type": "http",
            "method": "GET",
            "path": f"/run/{run_id}/frames.mjpeg",
            "query_string": b"token=" + TOKEN.encode(),
        }
        cookie = b""

        async def catch(message: dict[str, Any]) -> None:
            nonlocal cookie
            cookie = next((value for name, value in message.get("headers", []) if name == b"set-cookie"), cookie)

        await app({**scope, "headers": [(b"host", b"localhost")]}, receive, catch)
        headers = [(b"host", b"localhost"), (b"cookie", cookie.split(b";")[0])]
        await asyncio.wait_for(app({**scope, "query_string": b"", "headers": headers}, receive, send), 60)

    asyncio.run(run())
    return found


def test_a_snapshot_is_a_file_to_keep(client: TestClient, add: AddRun) -> None:
    run_id = add().path.name
    answer = client.get(f"/run/{run_id}/snapshot.jpg")
    assert answer.content.startswith(b"jpeg ")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}.jpg"'


def test_without_frames_the_stream_says_why(add: AddRun) -> None:
    run = add()
    (part,) = _stream(make_app(run.path.parent.parent, TOKEN), run.path.name, 1)
    assert b"\xff\xd8" in part and len(part) > 2000


def test_a_snapshot_of_nothing_says_why(add: AddRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mosaic_pipe.viewer.frames.SNAPSHOT_SECONDS", 0.5)
    run = add()
    with TestClient(make_app(tmp_path, TOKEN), base_url="http://localhost:8080") as client:
        client.get("/", params={"token": TOKEN})
        answer = client.get(f"/run/{run.path.name}/snapshot.jpg")
    assert answer.status_code == 404
    assert "There is no frame" in answer.text
