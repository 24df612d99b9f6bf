"""Reading ``events.jsonl`` while it grows, whatever is in it.

A torn last line waits for its rest. A line that is not JSON, not an event, of an unknown kind or too long is counted
and skipped; it stays in the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from mosaic_pipe.telemetry.events import Event

MAX_READ_LINE = 1 << 20
"""A line of this many bytes is not looked at; the kit writes none longer than 64 KiB."""

E = TypeVar("E")

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_KNOWN = frozenset(_struct.__struct_config__.tag for _struct in Event.__args__)


class Skipped(msgspec.Struct):
    """Lines that held no event, by reason."""

    bad: int = 0
    unknown: int = 0
    oversize: int = 0
    torn: int = 0

    def __add__(self, other: Skipped) -> Skipped:
        """Both."""
        counts = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Skipped(*(mine + others for mine, others in counts))


class Reader(Generic[E]):
    """Yields the events of the file at ``path`` from where the last read ended, as ``decoder`` sees them."""

    def __init__(self, path: Path, decoder: msgspec.json.Decoder[E]) -> None:
        self._path, self._decoder = path, decoder
        self._offset = 0
        self._in_oversize = False
        self.skipped = Skipped()

    def read(self, *, final: bool = False) -> Iterator[E]:
        """The events of whole lines that were not read yet; none where there is no file.

        Args:
            final: nothing more will be written; an unfinished last line is counted as torn.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._offset)
            while data := file.read(MAX_READ_LINE):
                yield from self._decode(self._take(data))
                if len(data) < MAX_READ_LINE:
                    break
                file.seek(self._offset)
            if final and file.seek(0, os.SEEK_END) > self._offset:
                self.skipped.torn += 1

    def _take(self, data: bytes) -> bytes:
        """The whole lines of ``data``, without what belongs to a line that is too long; moves the offset past them."""
        end = data.rfind(b"\n") + 1
        if not end and len(data) == MAX_READ_LINE:
            end, self._in_oversize = len(data), True
            self._offset += end
            return b""
        self._offset += end
        if end and self._in_oversize:
            self._in_oversize = False
            self.skipped.oversize += 1
            return data[data.find(b"\n") + 1 : end]
        return data[:end]

    def _decode(self, lines: bytes) -> Iterator[E]:
        try:
            yield from self._decoder.decode_lines(lines)  # all at once: several times faster than line by line
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield from filter(None, map(self._decode_line, lines.split(b"\n")))

    def _decode_line(self, line: bytes) -> E | None:
        try:
            return self._decoder.decode(line) if line.strip() else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            if _names_unknown_event(line):
                self.skipped.unknown += 1
            else:
                self.skipped.bad += 1
            return None


class EventReader(Reader[Event]):
    """Yields events by the schema."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _decoder)


def _names_unknown_event(line: bytes) -> bool:
    try:
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(value, dict) and isinstance(value.get("event"), str) and value["event"] not in _KNOWN
