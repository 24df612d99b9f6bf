"""A script's output: reports taken out line by line, everything else into the log as it is."""

import os
from collections.abc import Callable

PREFIX = b"mosaic:"
MAX_REPORT = 65536
"""Bytes of one report; a longer line is none."""


class Output:
    """Give it what was read of the script's stdout; it finds the reports in it."""

    def __init__(self, report: Callable[[bytes], bool]) -> None:
        """``report``: takes a line's text after the prefix; false: it is none, and goes into the log."""
        self._report = report
        self._held = b""
        self._inside_line = False

    def feed(self, data: bytes) -> None:
        """``data`` was read, lines cut anywhere."""
        *lines, rest = (self._held + data).split(b"\n")
        self._held = b""
        log = b"".join(line + b"\n" for line in lines if not self._is_report(line))
        if self._may_become_report(rest):
            self._held = rest
        elif rest:
            log, self._inside_line = log + rest, True
        write_log(log)

    def close(self) -> None:
        """Nothing more comes: a last line needs no newline."""
        if self._held and not self._is_report(self._held):
            write_log(self._held)
        self._held = b""

    def _is_report(self, line: bytes) -> bool:
        """Whether ``line`` was a report, which has been passed on."""
        starts, self._inside_line = not self._inside_line, False
        if not starts or not line.startswith(PREFIX) or len(line) > MAX_REPORT:
            return False
        return self._report(line[len(PREFIX) :])

    def _may_become_report(self, rest: bytes) -> bool:
        """Whether to wait for more of a line; others, a progress bar say, are in the log at once."""
        starts = rest.startswith(PREFIX) or PREFIX.startswith(rest)
        return bool(rest) and not self._inside_line and starts and len(rest) <= MAX_REPORT


def write_log(data: bytes) -> None:
    """Append ``data`` to the log.

    Raises:
        OSError: no room.
    """
    while data:
        data = data[os.write(2, data) :]
