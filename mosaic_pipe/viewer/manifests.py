"""Manifests of runs as they are now; a file that has not changed is not read again."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, is_left, manifest_as_it_is

LIMIT = 2000
"""So many are kept."""


@dataclass
class _Known:
    stamp: tuple[int, int, int]
    manifest: Manifest


class Manifests:
    """Any thread may ask. What is returned belongs to all, and is not to be changed."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, run: RunDir) -> Manifest | None:
        """The manifest of ``run``, with the end where its supervisor died without writing it; None: there is none."""
        name = run.path.name
        with self._lock:
            try:
                found = os.stat(run.manifest_file)  # noqa: PTH116  Path.stat takes twice as long
                stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
                known = self._known.get(name)
                if known is None or known.stamp != stamp or is_left(run, known.manifest.state, known.manifest.attempts):
                    known = self._known[name] = _Known(stamp, manifest_as_it_is(run))
            except (OSError, UserError):
                self._known.pop(name, None)
                return None
            self._known.move_to_end(name)
            while len(self._known) > LIMIT:
                self._known.popitem(last=False)
            return known.manifest
