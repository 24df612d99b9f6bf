"""Putting something in place once, whoever else tries at the same moment, on file systems without locks too.

A directory, already holding its first file, is moved to where it belongs. Renaming a directory onto one that is not
empty fails, on a local disk as on NFS, so only one can win. Whoever wants to know whether it won reads the file: an
answer of NFS can get lost, and a rename that worked be reported as one that failed.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path


def place_directory(target: Path, first_file: str, content: bytes) -> None:
    """Make the directory ``target`` with ``content`` in ``first_file``, unless it exists with that file in it.

    Raises:
        OSError: it cannot be written.
    """
    made = target.with_name(f".{secrets.token_hex(8)}")
    try:
        made.mkdir(parents=True)
        (made / first_file).write_bytes(content)
        made.rename(target)
    except OSError:
        if not (target / first_file).exists():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
