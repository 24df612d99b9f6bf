"""Keeping the library's prints out of the events.

The supervisor gives a worker the events file as its stdout. The kit keeps that descriptor for itself and points
fd 1 at fd 2 before the library is imported: prints of Python, of C and of child processes land in the log.
"""

import io
import os
import sys


def take_over_stdout() -> int:
    """A private duplicate of fd 1, not inherited by child processes; fd 1 is fd 2 from now on."""
    sys.stdout.flush()
    events = os.dup(1)  # os.dup makes it non-inheritable (PEP 446)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a line at once, where PYTHONUNBUFFERED writes each word of a print
        sys.stdout.reconfigure(line_buffering=True, write_through=False)
    return events
