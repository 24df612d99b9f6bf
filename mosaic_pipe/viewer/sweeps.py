"""What a page shows of a sweep: cells, points, the state of each. Manifests are read again only when they change."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.studies import StudyDir, study_of
from mosaic_pipe.store.sweeps import Sweep, Sweeps
from mosaic_pipe.sweep.metric import metric_of
from mosaic_pipe.sweep.status import NEW, PointStatus
from mosaic_pipe.sweep.summary import cell_names, cells, names
from mosaic_pipe.telemetry.budget import budget
from mosaic_pipe.viewer.cache import Cache
from mosaic_pipe.viewer.manifests import Manifests

PRUNED = "PRUNED"


class SweepPages:
    """The sweeps below an output directory, ``manifests`` being those of its runs."""

    def __init__(self, sweeps: Sweeps, manifests: Manifests) -> None:
        self._sweeps, self._manifests = sweeps, manifests
        self._opened: Cache[str, Sweep] = Cache(100, lambda name: Sweep(sweeps.directory / name))
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """All of them."""
        return self._sweeps.names()

    def statuses(self, name: str) -> list[PointStatus] | None:
        """What became of each point; None: there is no such sweep, by the list of them."""
        if name not in self._sweeps.names():
            return None
        with self._lock:
            try:
                points = self._opened[name].points()
            except UserError:
                return None
        found = []
        for point in points.values():
            manifest = self._manifests.of(self._manifests.runs.new(point.run_id))
            found.append(PointStatus(point, manifest.state.value if manifest else NEW, manifest))
        return self._with_pruned(name, found)

    def groups(self, statuses: Sequence[PointStatus]) -> dict[str, list[RunDir]]:
        """Runs of the points that have one, by cell."""
        found: dict[str, list[RunDir]] = {}
        for status, cell in zip(statuses, cell_names(statuses), strict=True):
            group = found.setdefault(cell or "all", [])
            if status.manifest:
                group.append(self._manifests.runs.new(status.point.run_id))
        return found

    def page(self, name: str, statuses: Sequence[PointStatus]) -> dict[str, Any]:
        """All that is shown of a sweep but its curves."""
        study = study_of(self._opened[name])
        told = zip(statuses, names(statuses), cell_names(statuses), strict=True)
        points = [_point(status, words, cell) for status, words, cell in told]
        if study:
            for point, status in zip(points, statuses, strict=True):
                point["value"] = metric_of(status.manifest.summary, study.metric) if status.manifest else None
        return {
            "name": name,
            "states": Counter(status.state for status in statuses),
            "study": {"metric": study.metric, "direction": study.direction} if study else None,
            "cells": [dataclasses.asdict(cell) for cell in cells(statuses)],
            "points": points,
        }

    def _with_pruned(self, name: str, statuses: list[PointStatus]) -> list[PointStatus]:
        directory = StudyDir(self._sweeps.directory / name)
        if not directory.path.is_dir():
            return statuses
        return [
            dataclasses.replace(one, state=PRUNED)
            if one.state == "CANCELLED" and directory.is_pruned(one.point.run_id)
            else one
            for one in statuses
        ]


def _point(status: PointStatus, words: str, cell: str) -> dict[str, Any]:
    manifest = status.manifest
    said = {"id": status.point.run_id, "state": status.state, "point": words, "cell": cell, "failure": status.failure}
    return said | {"seed": status.point.spec.seed, "has_run": manifest is not None} | _numbers(manifest)


def _numbers(manifest: Manifest | None) -> dict[str, Any]:
    if manifest is None:
        return {"done": 0, "total": 0, "return": None, "sps": None}
    done, total, _ = budget(manifest.summary, manifest.spec)
    return {"done": done, "total": total, "return": manifest.summary.mean_return, "sps": manifest.summary.sps}
