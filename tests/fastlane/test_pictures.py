"""Frames as pictures."""

from __future__ import annotations

import io
import math

import pytest
from PIL import Image

from mosaic_pipe.fastlane.pictures import fitted, scaled, tiled, to_jpeg
from mosaic_pipe.fastlane.reader import Frame

COLOURS = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 0), (0, 250, 250), (250, 0, 250), (99, 99, 99)]


def frame(width: int, height: int, colour: tuple[int, ...] = (250, 0, 0)) -> Frame:
    pixels = bytes(colour) * (width * height)
    return Frame(0, "env", 1, 1, 0.0, height, width, len(colour), pixels, math.nan, math.nan, math.nan)


@pytest.mark.parametrize(
    ("count", "columns", "rows"),
    [(1, 1, 1), (2, 1, 2), (3, 2, 2), (4, 2, 2), (5, 2, 3), (7, 3, 3), (9, 3, 3), (10, 3, 4)],
)
def test_tiles_are_laid_row_by_row_with_black_where_there_is_none(count: int, columns: int, rows: int) -> None:
    colours = [COLOURS[n % len(COLOURS)] for n in range(count)]
    image, boxes = tiled([frame(20, 10, colour) for colour in colours])
    assert image.size == (20 * columns, 10 * rows)
    assert [(box.left, box.top) for box in boxes] == [(n % columns * 20, n // columns * 10) for n in range(count)]
    for colour, box in zip(colours, boxes, strict=True):
        for x, y in ((0, 0), (box.width - 1, box.height - 1)):
            assert image.getpixel((box.left + x, box.top + y)) == colour
    if count < columns * rows:
        assert image.getpixel((image.width - 1, image.height - 1)) == (0, 0, 0)


def test_smaller_frames_grow_to_the_cell_and_keep_their_proportions() -> None:
    image, _ = tiled([frame(40, 40), frame(10, 20, (0, 250, 0))])
    assert image.size == (40, 80)
    assert [image.getpixel((x, 60)) for x in (9, 10, 29, 30)] == [(0, 0, 0), (0, 250, 0), (0, 250, 0), (0, 0, 0)]


def test_gray_stays_gray_unless_there_is_colour_beside_it() -> None:
    assert tiled([frame(8, 8, (7,))])[0].mode == "L"
    assert tiled([frame(8, 8, (7,)), frame(8, 8, (9,))])[0].mode == "L"
    mixed, _ = tiled([frame(8, 8, (7,)), frame(8, 8)])
    assert [mixed.getpixel((0, y)) for y in (0, 8)] == [(7, 7, 7), (250, 0, 0)]


@pytest.mark.parametrize("side", [1, 50, 333, 640, 10_000])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_the_longer_side_is_bounded(side: int, count: int) -> None:
    image, boxes = tiled([frame(320, 200)] * count, side)
    whole, _ = tiled([frame(320, 200)] * count)
    assert max(image.size) <= max(side, 3)  # a cell has one pixel at least
    assert side < 640 or image.size == whole.size or max(image.size) > side * 0.9
    assert all(box.left + box.width <= image.width and box.top + box.height <= image.height for box in boxes)


def test_scaling_makes_smaller_only_and_fitting_enlarges_with_sharp_edges() -> None:
    image = Image.new("RGB", (2, 1))
    image.putpixel((0, 0), (255, 255, 255))
    assert scaled(image, 100) is image
    assert fitted(image, 300, 100).size == (200, 100)
    assert set(fitted(image, 300, 100).tobytes()) == {0, 255}


def test_a_jpeg_carries_its_comment() -> None:
    image, _ = tiled([frame(64, 48)])
    decoded = Image.open(io.BytesIO(to_jpeg(image, b'[{"lane": 0}]')))
    assert (decoded.format, decoded.size, decoded.info["comment"]) == ("JPEG", (64, 48), b'[{"lane": 0}]')
    red, green, blue = decoded.tobytes()[:3]
    assert red > 240
    assert max(green, blue) < 15
