"""Write-then-rename: a file is whole or not there."""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import IO, Callable, Dict, Union


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a temporary file, then move it to ``path``; nothing is left behind if it fails.

    Raises:
        OSError: no room, no permission.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def fingerprint(path: Path) -> "Dict[str, Union[int, str]]":
    """``{"size": bytes, "sha256": hex}`` of the file at ``path``."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
            size += len(block)
    return {"size": size, "sha256": digest.hexdigest()}
