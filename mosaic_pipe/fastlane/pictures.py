"""Frames of several lanes as one picture: tiled, scaled, as JPEG. Needs Pillow, of the extra ``view``."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image
from PIL.Image import Resampling

from mosaic_pipe.fastlane.reader import Frame

_QUALITY = 85


class Box(NamedTuple):
    """Where a lane is in a picture; in pixels, from the left upper corner."""

    left: int
    top: int
    width: int
    height: int


def tiled(frames: Sequence[Frame], side: int | None = None) -> tuple[Image.Image, list[Box]]:
    """``frames`` in one image, row by row, each scaled to the cells, which are as large as the largest frame.

    Args:
        frames: at least one; colour and gray may be mixed.
        side: the image's longer side is at most so many pixels; None: as many as the cells take.

    Returns:
        The image, black where there is no frame, and where each frame's cell is in it.
    """
    rows = math.ceil(math.sqrt(len(frames)))
    columns = math.ceil(len(frames) / rows)
    width, height = _cell(frames, rows, columns, side)
    if len(frames) == 1:
        return fitted(_image(frames[0]), width, height), [Box(0, 0, width, height)]
    colour = any(frame.channels == 3 for frame in frames)
    canvas = Image.new("RGB" if colour else "L", (columns * width, rows * height))
    boxes = [Box(n % columns * width, n // columns * height, width, height) for n in range(len(frames))]
    for frame, box in zip(frames, boxes, strict=True):
        image = fitted(_image(frame), width, height)
        margins = (width - image.width) // 2, (height - image.height) // 2
        canvas.paste(image, (box.left + margins[0], box.top + margins[1]))
    return canvas, boxes


def scaled(image: Image.Image, side: int | None) -> Image.Image:
    """``image``, made smaller where its longer side has more than ``side`` pixels."""
    if side is None or max(image.size) <= side:
        return image
    return fitted(image, side, side)


def fitted(image: Image.Image, width: int, height: int) -> Image.Image:
    """``image`` as large as fits, its proportions kept; enlarged, its pixels stay sharp squares."""
    scale = min(width / image.width, height / image.height)
    size = max(1, min(width, round(image.width * scale))), max(1, min(height, round(image.height * scale)))
    if size == image.size:
        return image
    if scale > 1:
        return image.resize(size, Resampling.NEAREST)
    return image.resize(size, Resampling.BOX, reducing_gap=1.0)


def to_jpeg(image: Image.Image, comment: bytes = b"") -> bytes:
    """``image`` as a JPEG file with ``comment`` (at most 65,533 bytes) in it."""
    file = io.BytesIO()
    # whole colour resolution: what environments draw has sharp coloured edges
    image.save(file, "JPEG", quality=_QUALITY, subsampling=0, comment=comment)
    return file.getvalue()


def _cell(frames: Sequence[Frame], rows: int, columns: int, side: int | None) -> tuple[int, int]:
    width, height = max(frame.width for frame in frames), max(frame.height for frame in frames)
    longer = max(columns * width, rows * height)
    scale = 1.0 if side is None else min(1.0, side / longer)
    return max(1, int(width * scale)), max(1, int(height * scale))


def _image(frame: Frame) -> Image.Image:
    mode = "RGB" if frame.channels == 3 else "L"
    return Image.frombuffer(mode, (frame.width, frame.height), frame.pixels, "raw", mode, 0, 1)
