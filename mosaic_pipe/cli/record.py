"""``mosaic-pipe record``: a video of a run that goes on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from mosaic_pipe.base.errors import Exit, UserError
from mosaic_pipe.cli.extra import needs_view
from mosaic_pipe.cli.notice import show_notice
from mosaic_pipe.cli.own import with_output_dir
from mosaic_pipe.store.runs import Runs
from mosaic_pipe.supervise.signals import StopRequests

if TYPE_CHECKING:
    from mosaic_pipe.watch.recording import Recorded, Recording
    from mosaic_pipe.watch.source import View
    from mosaic_pipe.watch.video import Video

_SIDES = {".mp4": 1280, ".gif": 640}
"""Kinds of files, and the pixels that their longer side has at most."""

_FASTEST = {".mp4": 60, ".gif": 50}


def main(arguments: Sequence[str]) -> int:
    """Record as ``arguments`` say; returns the exit code.

    Raises:
        UserError: no such run, nothing to see, or the file cannot be written.
    """
    options = _parser().parse_args(arguments)
    target: Path = options.file
    _check(target, force=options.force)
    run = Runs(options.output_dir).find(options.run)
    with needs_view():
        from mosaic_pipe.watch.live import Live
        from mosaic_pipe.watch.recording import Recording, Wish
    live = Live(run)
    wish = Wish(
        seconds=options.seconds,
        fps=min(options.fps, _FASTEST[target.suffix.lower()]),
        timeout=options.timeout,
        side=_SIDES[target.suffix.lower()],
        lane=options.lane,
    )
    try:
        with _Shown(options.seconds) as shown, StopRequests() as requests:
            recording = Recording(live, wish, shown.show, lambda: requests.count > 0)
            first = recording.wait()
            if first is None and requests.count:
                return Exit.CANCELLED
            if first is None:
                hint = "" if live.has_ended else f"nothing came within {options.timeout:g} s: --timeout"
                raise UserError(live.note(options.lane) or "no frame", where=f"run {run.path.name}", hint=hint)
            _write(recording, first, target, wish.fps)
    finally:
        live.close()
    recorded = recording.recorded
    print(f"{target}: {recorded.frames} frames, {recorded.seconds:.1f} s")
    return Exit.OK


def _parser() -> argparse.ArgumentParser:
    description = "Record what is to be seen of a run that goes on."
    parser = argparse.ArgumentParser(prog="mosaic-pipe record", description=description, parents=[with_output_dir()])
    add = parser.add_argument
    add("run", metavar="RUN", help="id, unique prefix of one, or last")
    add("file", metavar="FILE", type=Path, help="out.mp4 or out.gif")
    add("--seconds", type=_seconds, default=10.0, help="how long (default: 10); Ctrl-C ends it earlier")
    add(
        "--fps",
        type=int,
        choices=range(1, 61),
        metavar="N",
        default=30,
        help="frames a second, at most 60; a gif: 50 (default: 30)",
    )
    add("--lane", type=int, metavar="N", help="one environment, by its number; else all that the run shows")
    add("--timeout", type=_seconds, default=60.0, help="seconds to wait for the first frame (default: 60)")
    add("--force", action="store_true", help="replace the file if it is there")
    return parser


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 86_400:
        raise ValueError(text)
    return number


def _check(target: Path, *, force: bool) -> None:
    if target.suffix.lower() not in _SIDES:
        raise UserError("what kind of file is this to be?", where=str(target), hint=f"end it in {' or '.join(_SIDES)}")
    if not target.parent.is_dir():
        raise UserError("there is no such folder", where=str(target.parent))
    if target.is_dir() or (target.exists() and not force):
        raise UserError("is there already", where=str(target), hint="another name, or --force")


def _write(recording: Recording, first: View, target: Path, fps: int) -> None:
    """Record into ``target``, which is whole when it appears."""
    made = target.with_name(f".{target.name}.part")
    try:
        video = _video(target.suffix.lower(), made, fps)
        recording.record(first, video)
        video.close(round(recording.recorded.seconds * fps))
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)


def _video(kind: str, path: Path, fps: int) -> Video:
    from mosaic_pipe.watch.video import Gif, Mp4

    with needs_view():
        return Mp4(path, fps) if kind == ".mp4" else Gif(path, fps)


class _Shown:
    """How far the recording is: a bar on a terminal, words elsewhere; a context manager."""

    def __init__(self, seconds: float) -> None:
        console = Console(stderr=True, highlight=False)
        columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=20)
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=seconds)
        self._words = not console.is_terminal
        self._told = ""

    def __enter__(self) -> _Shown:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, recorded: Recorded, note: str) -> None:
        """Show what there is so far, and why there is nothing."""
        text = f"{recorded.frames} frames" if recorded.frames else f"no frame yet: {note}"
        self._bar.update(self._task, description=text, completed=recorded.seconds)
        if self._words and not recorded.frames and note and note != self._told:
            self._told = note
            show_notice(text)
