"""What the page asks for: runs, one run, its curves and log, sweeps, comparisons. GET alone; JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.sweeps import Sweeps
from mosaic_pipe.telemetry.budget import budget
from mosaic_pipe.telemetry.curves import RETURN
from mosaic_pipe.viewer.answers import answer, nothing
from mosaic_pipe.viewer.cache import Cache
from mosaic_pipe.viewer.compare import Comparison, by_difference
from mosaic_pipe.viewer.curves import RunCurves
from mosaic_pipe.viewer.listing import FACETS, Listing, Query, ask
from mosaic_pipe.viewer.manifests import Manifests
from mosaic_pipe.viewer.sweeps import SweepPages

MAX_COMPARED = 200
MAX_LINES = 1000
MAX_PAGE = 500


class Api:
    """Answers for the runs and sweeps of one output directory."""

    def __init__(self, runs: Runs, sweeps: Sweeps) -> None:
        self.listing = Listing(runs)
        self._manifests = Manifests(runs)
        self.sweeps = SweepPages(sweeps, self._manifests)
        self._curves: Cache[str, RunCurves] = Cache(100, lambda run_id: RunCurves(runs.new(run_id)))
        self._comparison = Comparison()

    def routes(self) -> list[Route]:
        """Where each answer is."""
        return [
            Route("/api/runs", self.runs),
            Route("/api/runs/{run_id}", self.run),
            Route("/api/runs/{run_id}/curves", self.curves),
            Route("/api/runs/{run_id}/log", self.log),
            Route("/api/sweeps/{name}", self.sweep),
            Route("/api/sweeps/{name}/curves", self.sweep_curves),
            Route("/api/compare", self.compare),
        ]

    def runs(self, request: Request) -> Response:
        """A page of the list."""
        asked = request.query_params
        query = Query(
            only={name: asked[name] for name in FACETS if asked.get(name)},
            text=asked.get("text", "")[:200],
            sort=asked.get("sort", "created"),
            rising=asked.get("rising") == "1",
            grouped=asked.get("grouped") == "1",
            offset=_number(asked.get("offset"), 0, 10**9),
            limit=_number(asked.get("limit"), 100, MAX_PAGE),
        )
        return answer(request, ask(self.listing.rows(), query))

    def run(self, request: Request) -> Response:
        """One run: its manifest, and how far it is."""
        found = self._manifest(request)
        return answer(request, _run(found)) if found else nothing()

    def curves(self, request: Request) -> Response:
        """The curves of one run."""
        run = self.listing.run(request.path_params["run_id"])
        if run is None:
            return nothing()
        curves = self._curves[run.path.name]
        curves.update()
        return answer(request, curves.as_json())

    def log(self, request: Request) -> Response:
        """The end of the log of a run's last attempt."""
        run, found = self.listing.run(request.path_params["run_id"]), self._manifest(request)
        if run is None or found is None or not found.attempts:
            return nothing()
        lines = _number(request.query_params.get("lines"), 200, MAX_LINES)
        return answer(request, {"lines": run.log_tail(found.attempts[-1].number, lines)})

    def sweep(self, request: Request) -> Response:
        """One sweep, without its curves."""
        name = request.path_params["name"]
        statuses = self.sweeps.statuses(name)
        return nothing() if statuses is None else answer(request, self.sweeps.page(name, statuses))

    def sweep_curves(self, request: Request) -> Response:
        """The curves of a sweep's cells."""
        statuses = self.sweeps.statuses(request.path_params["name"])
        if statuses is None:
            return nothing()
        metric = request.query_params.get("metric") or RETURN
        return answer(request, self._comparison.compare(self.sweeps.groups(statuses), metric))

    def compare(self, request: Request) -> Response:
        """The curves of some runs; those that differ in their seed alone as one."""
        ids = dict.fromkeys(request.query_params.get("runs", "").split(",")[:MAX_COMPARED])
        runs = {run_id: run for run_id in ids if (run := self.listing.run(run_id))}
        manifests = {run_id: found for run_id, run in runs.items() if (found := self._manifests.of(run))}
        names = by_difference({run_id: found.spec for run_id, found in manifests.items()})
        groups = {name: [runs[run_id] for run_id in members] for name, members in names.items()}
        compared = self._comparison.compare(groups, request.query_params.get("metric") or RETURN)
        for group in compared["groups"]:
            group["ids"] = names[group["name"]]
        return answer(request, compared)

    def _manifest(self, request: Request) -> Manifest | None:
        run = self.listing.run(request.path_params["run_id"])
        return self._manifests.of(run) if run else None


def _run(manifest: Manifest) -> dict[str, Any]:
    done, total, unit = budget(manifest.summary, manifest.spec)
    said = {"title": manifest.spec.title(), "done": done, "total": total, "unit": unit}
    return said | {"is_final": manifest.state.is_final, "manifest": msgspec.to_builtins(manifest)}


def _number(text: str | None, default: int, most: int) -> int:
    return min(int(text), most) if text and text.isdecimal() and len(text) < 12 else default
