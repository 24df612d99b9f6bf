"""Who gets in, and what a request can reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from view_tests import SOCKET, TOKEN, AddRun

PAGES = ("/", "/compare", "/wall", "/static/app.js", "/api/runs", "/api/compare?runs=x", "/run/x/frames.mjpeg")


@pytest.mark.parametrize("page", PAGES)
def test_without_the_token_there_is_nothing(stranger_client: TestClient, page: str) -> None:
    for wrong in ("", "token=", "token=wrong", f"token={TOKEN}x", "token=%ff%00"):
        answer = stranger_client.get(f"{page}{'&' if '?' in page else '?'}{wrong}")
        assert answer.status_code == 403
        assert "mosaic-pipe view" in answer.text
        assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_page_can_use(stranger_client: TestClient) -> None:
    answer = stranger_client.get(f"/wall?sweep=a%20b&token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/wall?sweep=a+b"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert stranger_client.get("/").status_code == 200
    assert stranger_client.get("/?token=wrong").status_code == 403


def test_the_way_to_the_cookie_leads_nowhere_else(stranger_client: TestClient) -> None:
    answer = stranger_client.get(f"http://localhost:8080//evil.example/x?token={TOKEN}", follow_redirects=False)
    assert answer.headers["location"].startswith("/evil.example")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "localhost.evil.example", "", "[", "10.0.0.1"])
def test_a_foreign_name_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8080", "LOCALHOST:1"])
def test_any_port_of_this_machine_is_right(client: TestClient, host: str) -> None:
    cookie = {"Cookie": "; ".join(f"{one.name}={one.value}" for one in client.cookies.jar)}
    assert client.get("/", headers={"Host": host, **cookie}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost:8080.evil"])
def test_other_pages_are_refused(client: TestClient, origin: str) -> None:
    assert client.get("/api/runs", headers={"Origin": origin}).status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(SOCKET, headers={"Origin": origin}):
        pass


def test_a_websocket_needs_the_token_too(stranger_client: TestClient) -> None:
    for path in (SOCKET, f"{SOCKET}?token=wrong"):
        with pytest.raises(WebSocketDisconnect), stranger_client.websocket_connect(path):
            pass
    with (
        pytest.raises(WebSocketDisconnect),
        stranger_client.websocket_connect(SOCKET, headers={"Host": "evil.example"}),
    ):
        pass


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("page", ["/", "/api/runs"])
def test_nothing_can_be_written(client: TestClient, method: str, page: str) -> None:
    assert client.request(method, page).status_code == 405


def test_who_knows_the_token_may_open_one(client: TestClient) -> None:
    for headers in ({}, {"Origin": "http://localhost:8080"}):
        with client.websocket_connect(SOCKET, headers=headers):
            pass


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    for page in ("/", "/static/app.js", "/api/runs", "/nowhere"):
        policy = client.get(page).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert client.get(page).headers["x-content-type-options"] == "nosniff"


def test_the_page_has_no_script_in_it(client: TestClient) -> None:
    page = client.get("/").text
    assert page.count("<script") == page.count('<script type="module" src=')
    assert " on" not in page.replace(" on the", "").split("<body>")[0]


NO_PATHS = [
    "..",
    "../..",
    "..%2f..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "....//",
    "/etc/passwd",
    "a%00b",
    "con",
    ".",
]


@pytest.mark.parametrize("path", NO_PATHS)
def test_no_path_reaches_the_file_system(client: TestClient, tmp_path: Path, path: str) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "sweeps").mkdir()
    for secret in (tmp_path / "manifest.json", tmp_path / "sweep.json"):
        secret.write_text("secret")
    for before, after in [
        ("/static/", ""),
        ("/run/", ""),
        ("/run/", "/frames.mjpeg"),
        ("/run/", "/snapshot.jpg"),
        ("/api/runs/", ""),
        ("/api/runs/", "/curves"),
        ("/api/runs/", "/log"),
        ("/api/sweeps/", ""),
        ("/api/sweeps/", "/curves"),
    ]:
        answer = client.get(f"{before}{path}{after}")
        assert answer.status_code in (200, 404)
        assert "secret" not in answer.text and "root:" not in answer.text
    assert client.get("/api/compare", params={"runs": path}).json()["groups"] == []


def test_names_from_runs_are_data(client: TestClient, add: AddRun) -> None:
    import msgspec

    evil = "<img src=x onerror=alert(1)>"
    run = add()
    spec = run.read_manifest().spec
    run = add(env=msgspec.structs.replace(spec.env, id=evil))
    assert client.get("/api/runs").headers["content-type"].startswith("application/json")
    assert evil not in client.get(f"/run/{run.path.name}").text
