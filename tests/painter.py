"""A process that shows frames as a worker's environments do, without a library: for tests of whoever watches.

``python painter.py SEGMENT [--lanes N] [--size HxWxC …] [--fps F] [--note TEXT] [--log FILE]``: with several sizes,
lanes change from one to the next every 20 frames. ``--note``: no frames, and why. ``--log``: a byte for each frame.
``paint`` starts one in a test.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KIT = Path(__file__).resolve().parent.parent / "workers" / "mosaic_worker"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("segment")
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--size", nargs="+", default=["84x84x3"])
    parser.add_argument("--fps", type=float, default=60.0)
    parser.add_argument("--note", default="")
    parser.add_argument("--log", type=Path, default=None)
    options = parser.parse_args()
    os.environ["MOSAIC_FASTLANE"] = options.segment
    from mosaic_worker.fastlane.segment import claim

    lanes = [lane for n in range(options.lanes) if (lane := claim(f"painter {n}"))]
    sizes = [tuple(map(int, size.split("x"))) for size in options.size]
    for lane in lanes:
        lane.say(options.note)
    print(len(lanes), flush=True)
    number = 0
    while True:
        height, width, channels = sizes[number // 20 % len(sizes)]
        for n, lane in enumerate(lanes):
            if lane.wanted() and not options.note:
                pixels = painted(number, n, height, width, channels)
                lane.write(pixels, height, width, channels, float(n), number / 10, 1000.0)
                if options.log:
                    with options.log.open("ab") as log:
                        log.write(b".")
        number += 1
        time.sleep(1 / options.fps)


def painted(number: int, lane: int, height: int, width: int, channels: int) -> bytes:
    """A bar that moves to the right on a ground whose colour is the lane's."""
    ground = bytes((40 * (lane + 1) % 256, 60, 200)[:channels]) * width
    bar = number * 3 % width
    row = bytearray(ground)
    row[bar * channels : (bar + 8) * channels] = b"\xff" * (min(8, width - bar) * channels)
    return bytes(row) * height


@contextmanager
def paint(segment: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A painter on ``segment``, which holds its lanes by now."""
    command = [sys.executable, __file__, str(segment), *options]
    variables = {**os.environ, "PYTHONPATH": str(KIT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    main()
