"""pip's configuration as uv understands it.

uv does not read pip's files and variables. An institute's mirror, a folder of wheels and a certificate that pip
knows must work for the workers' environments too. Values may hold passwords: they travel in environment variables
of the uv process, never on a command line or in a file.
"""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys

_SCOPES = ("global.", "install.", ":env:.")  # a later one wins


def pip_settings() -> dict[str, str]:
    """pip's merged settings that concern installing, by their option names; empty where there is no pip."""
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [shutil.which("pip") or ""]
    if not pip[0]:
        return {}
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False).stdout
    return parse_settings(listed)


def parse_settings(listed: str) -> dict[str, str]:
    """The settings in the output of ``pip config list``."""
    settings: dict[str, str] = {}
    for scope in _SCOPES:
        for line in listed.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(scope):
                settings[key.removeprefix(scope).replace("_", "-")] = str(ast.literal_eval(value))
    return settings


def chooses_packages(settings: dict[str, str]) -> bool:
    """Whether pip's configuration says where packages come from, and so which torch."""
    return any(settings.get(key) for key in ("index-url", "extra-index-url", "find-links", "no-index"))


def uv_environment(settings: dict[str, str]) -> dict[str, str]:
    """``settings`` as environment variables of uv."""
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "no-index": "UV_NO_INDEX",
        "cert": "SSL_CERT_FILE",
        "trusted-host": "UV_INSECURE_HOST",
        "proxy": "ALL_PROXY",
        "default-timeout": "UV_HTTP_TIMEOUT",
        "timeout": "UV_HTTP_TIMEOUT",
    }
    found = {names[key]: " ".join(value.split()) for key, value in settings.items() if key in names and value}
    if "UV_FIND_LINKS" in found:
        found["UV_FIND_LINKS"] = found["UV_FIND_LINKS"].replace(" ", ",")
    if "UV_INDEX" in found:
        # pip takes the best version of all indexes; uv by default looks no further than the first that has the name.
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return found
