"""One client that looks at runs, and the picture that it should get next."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import ExitStack

from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.viewer.channels import Channel, Channels, Subject
from mosaic_pipe.watch.live import Picture

News = tuple[Subject, Picture | None, str]
"""Of a subject: its newest picture, or None and why there is none."""


class Watcher:
    """Hands out what is new of the subjects that it was told last, each in its turn. A context manager."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._news = asyncio.Event()
        self._listening: dict[Subject, tuple[Channel, ExitStack]] = {}
        self._seen: dict[Subject, tuple[int, str]] = {}

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.look_at([])

    def look_at(self, wanted: Iterable[tuple[Subject, RunDir]]) -> None:
        """Look at these from now on, and at nothing else."""
        runs = dict(wanted)
        for subject in self._listening.keys() - runs.keys():
            self._listening.pop(subject)[1].close()
            self._seen.pop(subject, None)
        for subject, run in runs.items():
            if subject not in self._listening:
                stack = ExitStack()
                channel = stack.enter_context(self._channels.listening(subject, run, self._news))
                self._listening[subject] = (channel, stack)

    async def next(self) -> News:
        """What is new, once there is something."""
        while True:
            if news := self._newest():
                return news
            self._news.clear()
            await self._news.wait()

    def _newest(self) -> News | None:
        for subject, (channel, _) in self._listening.items():
            token = channel.picture.token if channel.picture and not channel.note else 0
            if (token, channel.note) not in (self._seen.get(subject), (0, "")):
                self._seen[subject] = (token, channel.note)
                self._listening[subject] = self._listening.pop(subject)  # the others' turn comes first
                return subject, channel.picture if token else None, channel.note
        return None
