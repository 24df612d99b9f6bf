"""Fixtures of the viewer: an application over a folder, runs made out of a manifest, a client that has come in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from view_tests import TOKEN, AddRun, golden

from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.viewer import listing
from mosaic_pipe.viewer.app import make_app


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
def add(runs: Runs) -> AddRun:
    """Puts a run on disk, with ``events`` as lines of its first attempt."""

    def add(*, events: list[bytes] | None = None, **changes: Any) -> RunDir:
        manifest = golden(**changes)
        run = runs.new(manifest.run_id)
        run.events_file(1).parent.mkdir(parents=True)
        run.write_manifest(manifest)
        if events is not None:
            run.events_file(1).write_bytes(b"".join(event + b"\n" for event in events))
        return run

    return add


@pytest.fixture
def stranger_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A client without the token."""
    monkeypatch.setattr(listing, "FRESH_SECONDS", 0.0)
    with TestClient(make_app(tmp_path, TOKEN), base_url="http://localhost:8080") as client:
        yield client


@pytest.fixture
def client(stranger_client: TestClient) -> TestClient:
    """A client that has come in with the token."""
    assert stranger_client.get("/", params={"token": TOKEN}).status_code == 200
    return stranger_client
