from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mosaic_pipe.workers.pip_config import chooses_packages, parse_settings, uv_environment
from mosaic_pipe.workers.uv import torch_backend_for


def listed_by_pip(tmp_path: Path, text: str, **variables: str) -> str:
    """What pip itself says of a configuration file and environment variables."""
    file = tmp_path / "pip.conf"
    file.write_text(text)
    command = [sys.executable, "-m", "pip", "config", "list"]
    environment = {"PIP_CONFIG_FILE": str(file), "HOME": str(tmp_path), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_pips_settings_become_uvs(tmp_path: Path) -> None:
    text = """
[global]
index-url = https://me:pass%%word@mirror.example/simple
extra-index-url =
    https://a.example/simple
    https://b.example/simple
cert = /etc/ca.pem
trusted-host = a.example
timeout = 7
[install]
find-links = /wheels https://w.example/
"""
    settings = parse_settings(listed_by_pip(tmp_path, text.replace("%%", "%")))
    found = uv_environment(settings)
    assert found["UV_DEFAULT_INDEX"] == "https://me:pass%word@mirror.example/simple"
    assert found["UV_INDEX"] == "https://a.example/simple https://b.example/simple"
    assert found["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert found["UV_FIND_LINKS"] == "/wheels,https://w.example/"
    assert found["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert found["UV_INSECURE_HOST"] == "a.example"
    assert found["UV_HTTP_TIMEOUT"] == "7"
    assert chooses_packages(settings)


def test_variables_win_over_files(tmp_path: Path) -> None:
    listed = listed_by_pip(
        tmp_path, "[global]\nindex-url = https://file.example\n", PIP_INDEX_URL="https://env.example"
    )
    assert parse_settings(listed)["index-url"] == "https://env.example"


@pytest.mark.parametrize(
    ("settings", "asked", "variable", "backend"),
    [
        ({}, None, None, "auto"),
        ({"timeout": "5", "cert": "/c"}, None, None, "auto"),
        ({"find-links": "/wheels"}, None, None, None),
        ({"extra-index-url": "https://x"}, None, None, None),
        ({"index-url": "https://x"}, "cpu", None, "cpu"),
        ({}, "cu130", None, "cu130"),
        ({}, None, "cpu", None),
        ({}, "cu130", "cpu", "cu130"),
    ],
)
def test_who_chooses_torch(
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    asked: str | None,
    variable: str | None,
    backend: str | None,
) -> None:
    monkeypatch.delenv("UV_TORCH_BACKEND", raising=False)
    if variable:
        monkeypatch.setenv("UV_TORCH_BACKEND", variable)
    assert torch_backend_for(settings, asked) == backend
