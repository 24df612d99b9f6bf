"""Warnings from any process of a run, which the worker's own process reports as events.

Events have one writer. A line of a file in the attempt's scratch directory has any number: a short append is whole.
"""

import json
import os
from pathlib import Path
from typing import List, Optional

from mosaic_worker.protocol import ENV_SCRATCH

_NAME = "notices.jsonl"
_MAX_BYTES = 2000
_MAX_NOTICES = 20


def warn(message: str) -> None:
    """Leave ``message`` for the worker's process.

    Raises:
        OSError: it cannot be written.
    """
    file = _file()
    if file:
        line = json.dumps(message[: _MAX_BYTES // 6]).encode() + b"\n"  # a character is at most 6 bytes, escaped
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


class Notices:
    """What was left since the last look; each text once, and not without end."""

    def __init__(self) -> None:
        self._read = 0
        self._seen: List[str] = []

    def new(self) -> List[str]:
        """Messages that were not there before."""
        found = [message for message in self._lines() if message not in self._seen]
        found = list(dict.fromkeys(found))[: _MAX_NOTICES - len(self._seen)]
        self._seen += found
        return found

    def _lines(self) -> List[str]:
        file = _file()
        try:
            data = file.read_bytes()[self._read :] if file else b""
        except OSError:  # nobody has warned
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return [str(json.loads(line)) for line in whole.splitlines()]


def _file() -> Optional[Path]:
    scratch = os.environ.get(ENV_SCRATCH)
    return Path(scratch) / _NAME if scratch else None
