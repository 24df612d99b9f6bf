"""Recorded steps on disk: a folder with an array a file, and ``dataset.json``; docs/datasets.md is the format."""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict

from mosaic_worker.errors import UserError

FOLDER = "dataset"
"""Where a run of ``mode=collect`` leaves it, inside the run's directory."""

DESCRIPTION = "dataset.json"
FORMAT = 1
ARRAYS = ("observations", "actions", "rewards", "terminations", "truncations", "next_observations")

Description = Dict[str, Any]
"""What ``dataset.json`` holds."""

_REQUIRED = (
    *("sha256", "env.id", "env.kwargs", "observation_space", "action_space", "steps"),
    *(f"arrays.{name}.{fact}" for name in ARRAYS for fact in ("dtype", "shape", "size", "sha256")),
)
_IDENTITY = ("env", "observation_space", "action_space", "steps", "arrays")


def read_description(folder: Path) -> Description:
    """What is in the dataset at ``folder``; the arrays are not read, but there, and as long as they should be.

    Raises:
        UserError: there is none, it is of another format, or cut short, or was changed.
    """
    file = folder / DESCRIPTION
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{file}: not JSON: {error}") from error
    version = found.get("format") if isinstance(found, dict) else None
    if version != FORMAT:
        raise UserError(f"{file}: a dataset of format {version!r}, this version reads {FORMAT}")
    missing = [key for key in _REQUIRED if not _has(found, key.split("."))]
    if missing:
        raise UserError(f"{file}: has no {missing[0]}")
    if found["sha256"] != identity(found):
        raise UserError(f"{file}: was changed since it was written: its sha256 is another one")
    if not found["steps"]:
        raise UserError(f"{file}: an empty dataset: it holds no steps")
    for name in ARRAYS:
        _check_size(array_file(folder, name), found["arrays"][name]["size"])
    return dict(found)


def array_file(folder: Path, name: str) -> Path:
    """Where the array ``name`` is."""
    return folder / f"{name}.npy"


def identity(description: Description) -> str:
    """Sha256 of what can be learned from: environment, spaces, and the arrays' own sha256; not of who recorded it."""
    text = json.dumps({key: description[key] for key in _IDENTITY}, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _has(found: Any, path: "list[str]") -> bool:
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return False
        found = found[key]
    return True


def _check_size(file: Path, size: int) -> None:
    try:
        found = file.stat().st_size
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
    if found != size:
        raise UserError(f"{file}: cut short, or of something else: it has {found} bytes and should have {size}")
