"""The pages: one HTML file, which the script fills in. Without JavaScript a run's page shows its frames."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from mosaic_pipe.viewer.answers import nothing
from mosaic_pipe.viewer.files import serve_file, shell
from mosaic_pipe.viewer.listing import Listing

_NOTE = "This page needs JavaScript. Without it there are frames alone: open /run/ID, with the id of a run."


class Pages:
    """Serves them; ``listing`` knows which runs there are."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def routes(self) -> list[Route]:
        """Where each page is; the script looks at the path to know which one to show."""
        return [
            Route("/", self.page),
            Route("/compare", self.page),
            Route("/run/{run_id}", self.run),
            Route("/sweep/{name}", self.page),
            Route("/wall", self.page),
            Route("/static/{name}", serve_file),
        ]

    def page(self, request: Request) -> Response:
        """Any page but a run's."""
        return _html(f"<p>{_NOTE}</p>")

    def run(self, request: Request) -> Response:
        """A run's page."""
        run_id = request.path_params["run_id"]
        if self._listing.run(run_id) is None:
            return nothing()
        return _html(f'<p>Run {run_id}</p><img src="/run/{run_id}/frames.mjpeg" alt="live frames">')


def _html(without_script: str) -> Response:
    text = shell().replace("<!-- without script -->", without_script)
    return HTMLResponse(text, headers={"Cache-Control": "private, no-cache"})
