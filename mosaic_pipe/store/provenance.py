"""Where a run comes from: the code, the command, the machine."""

from __future__ import annotations

import getpass
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mosaic_pipe import __version__
from mosaic_pipe.store.manifest import Provenance

PACKAGES_FILE = "packages.txt"


def provenance(environment: str, versions: dict[str, str]) -> Provenance:
    """Of a run started now by this process.

    Args:
        environment: hash of the worker's virtualenv.
        versions: of the worker and its library, by name.
    """
    return Provenance(
        argv=own_arguments(),
        cwd=str(Path.cwd()),
        created=time.time(),
        user=_user(),
        versions={"mosaic_pipe": __version__, "platform": platform.platform(), **versions},
        environment=environment,
        packages=PACKAGES_FILE,
        git=git_state(Path.cwd()),
    )


def own_arguments() -> list[str]:
    """How this command was called, fit to be kept."""
    return [masked(argument) for argument in sys.argv]


def git_state(directory: Path) -> dict[str, Any] | None:
    """``{"commit": hex, "dirty": bool}`` of the checkout that ``directory`` is in; None where there is none."""
    status = _git(directory, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    commit = re.search(r"^# branch\.oid ([0-9a-f]+)$", status, re.MULTILINE)
    if not commit:
        return None
    return {"commit": commit[1], "dirty": any(line[0] != "#" for line in status.splitlines())}


def masked(argument: str) -> str:
    """``argument`` without the password of an address in it."""
    return re.sub(r"://[^/@\s]+@", "://***@", argument)


def _git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):  # no git, or a huge checkout on a slow disk: not worth a run
        return ""
    return done.stdout if done.returncode == 0 else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
