"""The sign of life: a thread that tells how long the training loop has been silent."""

import threading
import time
from typing import TYPE_CHECKING

from mosaic_worker.errors import EventsLost

if TYPE_CHECKING:
    from mosaic_worker.session import Session


class Heartbeat(threading.Thread):
    """Emits ``heartbeat`` every ``interval`` seconds: steps so far, and seconds since the loop last showed life.

    The thread beats on when the loop hangs; the growing ``idle`` is what tells the supervisor.
    """

    def __init__(self, session: "Session", interval: float) -> None:
        super().__init__(name="mosaic-heartbeat", daemon=True)
        self._session, self._interval = session, interval
        self._finished = threading.Event()

    def run(self) -> None:
        """Beat until stopped or until events cannot be written."""
        life, since = self._session.life(), time.monotonic()
        while not self._finished.wait(self._interval):
            now = time.monotonic()
            if self._session.life() != life:
                life, since = self._session.life(), now
            payload = {**self._session.counts(), "idle": round(now - since, 3)}
            try:
                self._session.relay()
                self._session.beat(payload)
            except EventsLost as error:
                self._session.give_up(error)
                return

    def stop(self) -> None:
        """End the thread; returns when it has ended."""
        self._finished.set()
        self.join()
