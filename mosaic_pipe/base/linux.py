"""What Linux offers for looking after processes, and Python's standard library doesn't."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> Callable[[], None]:
    """A ``preexec_fn``: the child gets SIGKILL when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG)."""
    parent = os.getpid()
    prctl, kill_signal = _libc.prctl, int(signal.SIGKILL)

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, kill_signal)
        if os.getppid() != parent:  # it died before prctl took effect
            os._exit(1)

    return in_child


def become_subreaper() -> None:
    """Descendants whose parent ends become children of this process (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
