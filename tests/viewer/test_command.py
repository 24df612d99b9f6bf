"""``mosaic-pipe view`` as a user starts it: what it prints, what it refuses, how it ends, what a raw request can do."""

from __future__ import annotations

import socket
import time

import pytest
from machine import Machine
from viewing import Viewer


def ask(viewer: Viewer, target: str, *headers: str) -> bytes:
    """What the server answers to a request as it stands."""
    port = int(viewer.base.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        lines = [f"GET {target} HTTP/1.1", "Host: localhost", *headers, "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        found = b""
        while data := connection.recv(65536):
            found += data
    return found


def test_a_viewer_from_its_start_to_its_end(machine: Machine) -> None:
    viewer = Viewer(machine)
    assert ask(viewer, "/").startswith(b"HTTP/1.1 403")
    came_in = ask(viewer, f"/?token={viewer.token}")
    assert came_in.startswith(b"HTTP/1.1 303")
    cookie = came_in.partition(b"set-cookie: ")[2].partition(b";")[0].decode()
    assert b'"runs":0' in ask(viewer, "/api/runs", f"Cookie: {cookie}")
    assert ask(viewer, "/api/runs", f"Cookie: {cookie}", "Host: evil.example").startswith(b"HTTP/1.1 4")
    for path in (
        "/../../etc/passwd",
        "/static/../app.py",
        "/run/../../x",
        "/api/runs/../../../etc/passwd",
        "//etc/passwd",
    ):
        answer = ask(viewer, path, f"Cookie: {cookie}")
        assert answer.startswith(b"HTTP/1.1 404"), answer
        assert b"root:" not in answer
    time.sleep(1.0)
    before = viewer.cpu_seconds()
    time.sleep(2.0)
    assert viewer.cpu_seconds() - before < 0.03  # nobody looks
    assert viewer.stop() == 0


def test_what_it_refuses_and_how(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        machine.run("view", "--port", str(taken.getsockname()[1]), expect=2)
    assert "the port is in use" in machine.stderr
    for token in ("", "short", "with space and ;"):
        machine.run("view", "--token", token, expect=2)
        assert "this is no token" in machine.stderr
    machine.variables["MOSAIC_VIEW_TOKEN"] = ""
    machine.run("view", expect=2)
    assert "MOSAIC_VIEW_TOKEN: this is no token" in machine.stderr
    del machine.variables["MOSAIC_VIEW_TOKEN"]
    machine.run("view", "nothing", expect=2)
    assert "no run 'nothing', and no sweep of that name" in machine.stderr
    machine.run("view", "--host", "no.such.host.invalid", expect=2)
    assert "Traceback" not in machine.stderr


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_token_of_ones_own(machine: Machine, how: str) -> None:
    token = "my-own-token-1"
    if how == "variable":
        machine.variables["MOSAIC_VIEW_TOKEN"] = token
    viewer = Viewer(machine, *(["--token", token] if how == "option" else []))
    assert viewer.url.endswith(f"/?token={token}")


def test_without_the_extra_it_says_what_to_install(machine: Machine) -> None:
    broken = machine.folder / "starlette"
    broken.mkdir()
    (machine.folder / "sitecustomize.py").write_text(
        "import importlib.util as u; f = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'plotly' else f(name, *a)\n"
    )
    machine.variables["PYTHONPATH"] = str(machine.folder)
    machine.run("view", expect=2)
    assert "pip install 'mosaic-pipe[view]'" in machine.stderr
    assert "plotly" in machine.stderr
