"""A memory barrier in plain Python."""

import threading


class Fence:
    """What was read and written before a call of :meth:`cross` is so for everybody before what comes after it.

    x86 keeps stores in order and loads in order by itself; ARM and POWER do not, and Python has no barrier. It has
    locks: the release of one orders everything before it, taking it orders everything after it, and taking a lock
    cannot overtake its own release. One thread at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def cross(self) -> None:
        """The barrier."""
        self._lock.release()
        self._lock.acquire()
