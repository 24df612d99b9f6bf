"""``runs tail --frames``: what a run's environments show, in a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.cli.extra import needs_view
from mosaic_pipe.cli.half_blocks import Colour, half_blocks, one_of_256, true_colour
from mosaic_pipe.cli.own import own_command
from mosaic_pipe.cli.screen import Screen
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.supervise.signals import StopRequests

if TYPE_CHECKING:
    from mosaic_pipe.watch.live import Live
    from mosaic_pipe.watch.source import Metrics, View

_FRAME_SECONDS = 1 / 15
_WANT_SECONDS = 0.5
_OLD_SECONDS = 2.0
_FOOTER = 2


def show_frames(run: RunDir) -> int:
    """Show the frames of ``run`` until it ends, or somebody has seen enough; returns the exit code.

    Raises:
        UserError: this is no terminal, or a package is missing.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        hint = f"record them: {own_command()} record {run.path.name} out.mp4"
        raise UserError("frames are for a terminal", where="--frames", hint=hint)
    with needs_view():
        from mosaic_pipe.watch.live import Live
    live = Live(run)
    try:
        with StopRequests() as requests, Screen() as screen:
            stopped = _show_until_end(live, f"run {run.path.name}", screen, requests)
    finally:
        live.close()
    if requests.count:
        return Exit.CANCELLED
    if not stopped:
        print(f"run {run.path.name}: {live.note()}")
    return Exit.OK


def _show_until_end(live: Live, title: str, screen: Screen, requests: StopRequests) -> bool:
    """Whether somebody had seen enough before the end."""
    colour = true_colour if os.environ.get("COLORTERM") in ("truecolor", "24bit") else one_of_256
    view: View | None = None
    lines: list[str] = []
    drawn, wanted = (0, 0, 0), 0.0
    while not live.has_ended:
        if requests.count or screen.key() == "q":
            return True
        now = time.monotonic()
        if now - wanted >= _WANT_SECONDS:
            wanted = now
            live.want()
        view = live.view(view.token if view else 0) or view
        columns, rows = screen.size()[0], max(1, screen.size()[1] - _FOOTER)
        if view and drawn != (view.token, columns, rows):
            drawn = (view.token, columns, rows)
            lines = _picture(view, columns, rows, colour)
        footer = [live.note() or (_numbers(view.metrics) if view else ""), f"{title}: q or Ctrl-C ends the looking"]
        blank = [""] * (rows - len(lines))
        screen.show([*lines, *blank, *(_plain(text)[: columns - 1] for text in footer)])
        time.sleep(max(0.0, now + _FRAME_SECONDS - time.monotonic()))
    return False


def _picture(view: View, columns: int, rows: int, colour: Colour) -> list[str]:
    from mosaic_pipe.fastlane.pictures import fitted

    image = fitted(view.image.convert("RGB"), columns, 2 * rows)
    even = image.crop((0, 0, image.width, image.height + image.height % 2))
    margin = " " * ((columns - image.width) // 2)
    return [margin + line for line in half_blocks(even.tobytes(), even.width, colour)]


def _numbers(metrics: Sequence[Metrics]) -> str:
    age = min(one["age"] for one in metrics)
    old = [f"{age:.0f} s ago"] if age >= _OLD_SECONDS else []
    return "  |  ".join([*old, *map(_lane, metrics)])


def _lane(metrics: Metrics) -> str:
    names = {"rolling_return": "return", "last_reward": "reward", "step_rate_hz": "steps/s"}
    known = [f"{name} {metrics[key]:.4g}" for key, name in names.items() if metrics[key] is not None]
    return "  ".join([metrics["label"], *known])


def _plain(text: str) -> str:
    """Nothing that a terminal obeys: names come from libraries."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
