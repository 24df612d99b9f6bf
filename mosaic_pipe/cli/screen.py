"""The whole terminal, for a while: shown lines are drawn over each other, and all is as it was afterwards."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Sequence
from typing import Any

_ENTER = "\x1b[?1049h\x1b[?25l"  # the alternate screen, without a cursor
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"
_CLEAR = "\x1b[2J"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around what is to appear at once; terminals that do not know it pass it over."""


class Screen:
    """The terminal that stdout is; a context manager."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._size = (0, 0)
        self._keys = -1
        self._before: list[Any] = []

    def __enter__(self) -> Screen:
        if sys.stdin.isatty():
            self._keys = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._keys)
            tty.setcbreak(self._keys)
        _write(_ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # the terminal is gone
            _write(_LEAVE)
        if self._keys >= 0:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._keys, termios.TCSAFLUSH, self._before)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        size = os.get_terminal_size(sys.stdout.fileno())
        return size.columns, size.lines

    def key(self) -> str:
        """A key that was pressed; empty: none was."""
        if self._keys < 0 or not select.select([self._keys], [], [], 0)[0]:
            return ""
        return os.read(self._keys, 1).decode(errors="replace")

    def show(self, lines: Sequence[str]) -> None:
        """Show ``lines`` from the top, writing only those that have changed: the terminal may be far away."""
        parts = []
        if self.size() != self._size:
            self._size, self._shown = self.size(), []
            parts.append(_CLEAR)
        for number, line in enumerate(lines):
            if number >= len(self._shown) or self._shown[number] != line:
                parts.append(f"\x1b[{number + 1};1H{line}\x1b[K")
        self._shown = list(lines)
        if parts:
            _write("".join((_BEGIN, *parts, _END)))


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
