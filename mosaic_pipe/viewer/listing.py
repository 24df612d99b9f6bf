"""All runs, as a list shows them: manifests are read once, and again when their files have changed."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.store.manifest import Attempt, Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, is_left
from mosaic_pipe.store.states import State
from mosaic_pipe.telemetry.budget import budget

FACETS = ("state", "worker", "algo", "env", "sweep")
"""What a list can be filtered by."""

FRESH_SECONDS = 0.5
"""A listing of this age is shown to the next client as it is."""

_RUN_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")

Row = dict[str, Any]


@dataclass
class _Known:
    stamp: tuple[int, int, int]
    row: Row
    attempts: list[Attempt]
    state: State


class Listing:
    """The runs below an output directory. Any thread may ask."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.version = 0
        """Changes whenever a row does."""
        self._known: dict[str, _Known] = {}
        self._rows: list[Row] = []
        self._looked = float("-inf")
        self._lock = threading.Lock()

    def rows(self) -> list[Row]:
        """A row a run, newest first."""
        with self._lock:
            if time.monotonic() - self._looked > FRESH_SECONDS:
                self._look()
                self._looked = time.monotonic()
            return self._rows

    def run(self, run_id: str) -> RunDir | None:
        """The run called ``run_id`` in full; None: there is none. The only way from a client's words to a directory."""
        if not _RUN_ID.fullmatch(run_id):
            return None
        run = self.runs.new(run_id)
        return run if run.manifest_file.is_file() else None

    def _look(self) -> None:
        ids = [run_id for run_id in self.runs.ids() if _RUN_ID.fullmatch(run_id)]
        changed = [run_id for run_id in ids if self._look_at(run_id)]
        lost = self._known.keys() - set(ids)
        for run_id in lost:
            del self._known[run_id]
        if changed or lost or not self.version:
            self.version += 1
            self._rows = sorted((one.row for one in self._known.values()), key=lambda row: row["created"], reverse=True)

    def _look_at(self, run_id: str) -> bool:
        """Bring one run up to date; whether it has changed."""
        known = self._known.get(run_id)
        if known and known.state is State.COMPLETED:
            return False  # nothing follows
        run = self.runs.new(run_id)
        try:
            found = os.stat(run.manifest_file)  # noqa: PTH116  Path.stat takes twice as long
        except OSError:
            return self._known.pop(run_id, None) is not None
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if known is None or known.stamp != stamp:
            try:
                manifest = run.read_manifest()
            except UserError:
                return self._known.pop(run_id, None) is not None
            known = self._known[run_id] = _Known(stamp, row(manifest), manifest.attempts, manifest.state)
        elif known.state.is_final or known.row["state"] != known.state:
            return False
        else:
            return _set_right(run, known)
        _set_right(run, known)
        return True


def _set_right(run: RunDir, known: _Known) -> bool:
    """Show a run whose supervisor is dead as the failure that it is; whether it was one."""
    if not is_left(run, known.state, known.attempts):
        return False
    failure = "node_failure" if known.attempts[-1].slurm else "worker_lost"
    known.row = {**known.row, "state": State.FAILED.value, "failure": failure}
    return True


def row(manifest: Manifest) -> Row:
    """What a list says of a run."""
    spec, summary = manifest.spec, manifest.summary
    done, total, unit = budget(summary, spec)
    ended = manifest.attempts[-1].ended if manifest.attempts else None
    return {
        "id": manifest.run_id,
        "state": manifest.state.value,
        "failure": manifest.failure.class_ if manifest.failure else None,
        "worker": spec.worker.name,
        "algo": spec.algo.name,
        "env": spec.env.id,
        "seed": spec.seed,
        "mode": spec.mode,
        "sweep": manifest.sweep,
        "done": done,
        "total": total,
        "unit": unit,
        "return": summary.mean_return,
        "sps": summary.sps,
        "created": manifest.provenance.created,
        "ended": ended,
        "frames": getattr(spec.fastlane, "mode", "off"),
    }


@dataclass(frozen=True)
class Query:
    """What of a list to show. ``text``: words that all have to be found in a row."""

    only: dict[str, str]
    text: str = ""
    sort: str = "created"
    rising: bool = False
    grouped: bool = False
    offset: int = 0
    limit: int = 100


def ask(rows: list[Row], query: Query) -> dict[str, Any]:
    """The page of ``rows`` that ``query`` wants, how many there are in all, and how many of each kind."""
    found = [row for row in rows if _passes(row, query)]
    entries = _grouped(found) if query.grouped else found
    if (query.sort, query.rising) != ("created", False):
        entries = _sorted(entries, query.sort, query.rising)
    facets = {name: Counter(row[name] for row in rows if row[name] is not None) for name in FACETS}
    return {
        "runs": len(rows),
        "found": len(found),
        "entries": len(entries),
        "page": entries[query.offset : query.offset + query.limit],
        "facets": {name: counts.most_common(100) for name, counts in facets.items()},
    }


def _passes(row: Row, query: Query) -> bool:
    if any(row[name] != value for name, value in query.only.items()):
        return False
    if not query.text:
        return True
    words = f"{row['id']} {row['state']} {row['failure']} {row['worker']} {row['algo']} {row['env']} {row['sweep']}"
    return all(word in words.lower() for word in query.text.lower().split())


def _sorted(entries: list[Row], key: str, rising: bool) -> list[Row]:
    """By ``key``, what lacks it last."""
    having = [entry for entry in entries if entry.get(key) is not None]
    lacking = [entry for entry in entries if entry.get(key) is None]
    return sorted(having, key=lambda entry: entry[key], reverse=not rising) + lacking


def _grouped(rows: list[Row]) -> list[Row]:
    """Runs of one sweep as one entry, where its newest one was."""
    entries: dict[str, Row] = {}
    for row in rows:
        if row["sweep"] is None:
            entries[row["id"]] = row
            continue
        group = entries.setdefault(
            f"sweep {row['sweep']}", {"group": row["sweep"], "runs": 0, "states": Counter(), "created": row["created"]}
        )
        group["runs"] += 1
        group["states"][row["state"]] += 1
    return list(entries.values())
