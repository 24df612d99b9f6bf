"""Live pictures for any number of clients: each run is looked at once, in a thread, while somebody waits for it.

A client waits for a picture newer than its last one, and gets the newest there is. So a slow one sees fewer pictures,
never old ones, and one that has stopped asking, or is gone, keeps nothing alive.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.watch.live import Live, Picture

SIDES = (320, 640, 1280)
"""Pixels of a picture's longer side: a tile of the wall, a run's page, a large one."""

FAST_SECONDS, WALL_SECONDS, IDLE_SECONDS = 1 / 30, 1 / 6, 0.5
_WISH_SECONDS = 0.4


class Pictures(Protocol):
    """What a channel needs of :class:`Live`."""

    def want(self, lane: int | None = None) -> None:
        """Somebody looks."""

    def picture(self, after: int = 0, side: int | None = None, lane: int | None = None) -> Picture | None:
        """The newest picture, if it is newer than the token ``after``."""

    def note(self, lane: int | None = None) -> str:
        """Why there is nothing to see."""

    def close(self) -> None:
        """Give back what it holds."""


@dataclass(frozen=True)
class Subject:
    """What a client looks at: a run, how large, and which environment of it (None: all)."""

    run_id: str
    side: int
    lane: int | None = None


class _Source:
    """The one view of a run; used by one thread at a time, and closed when its last channel is."""

    def __init__(self, pictures: Pictures) -> None:
        self.lock, self.channels = threading.Lock(), 0
        self._pictures = pictures

    def look(self, subject: Subject, after: int, wish: bool) -> tuple[Picture | None, str]:
        """The newest picture after ``after``, or why there is none; ``wish``: ask for more."""
        with self.lock:
            try:
                if wish:
                    self._pictures.want(subject.lane)
                picture = self._pictures.picture(after, subject.side, subject.lane)
                return picture, "" if picture else self._pictures.note(subject.lane)
            except (OSError, UserError) as error:
                return None, f"the frames cannot be read: {error}"

    def close(self) -> None:
        with self.lock:
            self._pictures.close()


class Channel:
    """The newest picture of one subject, while clients are listening."""

    def __init__(self, subject: Subject, source: _Source, threads: ThreadPoolExecutor) -> None:
        self.subject = subject
        self.picture: Picture | None = None
        self.note = ""
        self.listeners: set[asyncio.Event] = set()
        self._source, self._threads = source, threads
        self._interval = WALL_SECONDS if subject.side == SIDES[0] else FAST_SECONDS

    async def run(self) -> None:
        """Look as long as anybody listens."""
        loop, wished = asyncio.get_running_loop(), 0.0
        while self.listeners:
            began = time.monotonic()
            if wish := began - wished >= _WISH_SECONDS:
                wished = began
            after = self.picture.token if self.picture else 0
            picture, note = await loop.run_in_executor(self._threads, self._source.look, self.subject, after, wish)
            if picture or note != self.note:
                self.picture, self.note = picture or self.picture, note
                for listener in self.listeners:
                    listener.set()
            interval = IDLE_SECONDS if note else self._interval
            await asyncio.sleep(max(0.005, began + interval - time.monotonic()))


class Channels:
    """All channels of a server; ``make`` opens the view of a run. For one event loop."""

    def __init__(self, make: Callable[[RunDir], Pictures] = Live) -> None:
        self._make = make
        self._channels: dict[Subject, Channel] = {}
        self._sources: dict[str, _Source] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(4, "frames")

    @contextmanager
    def listening(self, subject: Subject, run: RunDir, news: asyncio.Event) -> Iterator[Channel]:
        """While this lasts, ``news`` is set whenever there is something new of ``subject``, which is of ``run``."""
        channel = self._channels.get(subject) or self._open(subject, run)
        channel.listeners.add(news)
        news.set()
        try:
            yield channel
        finally:
            channel.listeners.discard(news)

    def _open(self, subject: Subject, run: RunDir) -> Channel:
        if subject.run_id not in self._sources:
            self._sources[subject.run_id] = _Source(self._make(run))
        source = self._sources[subject.run_id]
        source.channels += 1
        self._channels[subject] = channel = Channel(subject, source, self._threads)
        task = asyncio.get_running_loop().create_task(self._look(channel, source))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return channel

    async def _look(self, channel: Channel, source: _Source) -> None:
        try:
            await channel.run()
        finally:  # nothing is awaited between the last look at the listeners and this
            del self._channels[channel.subject]
            source.channels -= 1
            if source.channels == 0:
                del self._sources[channel.subject.run_id]
                self._threads.submit(source.close)
