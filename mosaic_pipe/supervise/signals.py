"""Signals to a process that looks after runs: requests to stop, counted."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Counts requests to stop instead of dying of them; a context manager.

    What is ignored, SIGHUP under nohup say, stays ignored.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> StopRequests:
        heeded = [number for number in _REQUESTS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._take) for number in heeded}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
