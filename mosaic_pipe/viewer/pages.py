"""The pages: one HTML file, which the script fills in. Without JavaScript a run's page shows its frames."""

from __future__ import annotations

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from mosaic_pipe.viewer.answers import nothing
from mosaic_pipe.viewer.files import serve_file, shell
from mosaic_pipe.viewer.listing import Listing
from mosaic_pipe.viewer.sweeps import SweepPages

_NOTE = "This page needs JavaScript. Without it there are frames alone: open /run/ID, with the id of a run."


class Pages:
    """Serves them; ``listing`` knows which runs there are, ``sweeps`` which sweeps."""

    def __init__(self, listing: Listing, sweeps: SweepPages) -> None:
        self._listing, self._sweeps = listing, sweeps

    def routes(self) -> list[Route]:
        """Where each page is; the script looks at the path to know which one to show."""
        return [
            Route("/", self.page),
            Route("/compare", self.page),
            Route("/run/{run_id}", self.run),
            Route("/sweep/{name}", self.sweep),
            Route("/wall", self.page),
            Route("/static/{name}", serve_file),
        ]

    def page(self, request: Request) -> Response:
        """Any page but a run's."""
        return _html(f"<p>{_NOTE}</p>")

    def sweep(self, request: Request) -> Response:
        """A sweep's page; hundreds of manifests are read while the browser loads its script."""
        page = self.page(request)
        page.background = BackgroundTask(self._sweeps.statuses, request.path_params["name"])
        return page

    def run(self, request: Request) -> Response:
        """A run's page."""
        run_id = request.path_params["run_id"]
        if self._listing.run(run_id) is None:
            return nothing()
        return _html(f'<p>Run {run_id}</p><img src="/run/{run_id}/frames.mjpeg" alt="live frames">')


def _html(without_script: str) -> Response:
    text = shell().replace("<!-- without script -->", without_script)
    return HTMLResponse(text, headers={"Cache-Control": "private, no-cache"})
