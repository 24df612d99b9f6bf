"""Video files, a frame at a time: mp4 by PyAV, of the extra ``view``, and gif by Pillow."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Protocol

from PIL import Image

from mosaic_pipe.fastlane.pictures import fitted

_SMALLEST = 320
"""Smaller pictures are enlarged, by a whole factor: players show them so, and colours keep their edges."""


class Video(Protocol):
    """A file that is being written. ``at``: when a frame is seen, in units of one over the frame rate, rising."""

    def add(self, image: Image.Image, at: int) -> None:
        """Add a frame, which stays until the next; one of another size is fitted into the first one's."""

    def close(self, at: int) -> None:
        """Finish the file; ``at``: when the last frame goes.

        Raises:
            OSError: it could not be written.
        """


class Mp4:
    """H.264 in an mp4 file."""

    def __init__(self, path: Path, fps: int) -> None:
        """Begin the file.

        Raises:
            ImportError: PyAV is not installed.
            OSError: it cannot be written.
        """
        import av

        self._av = av
        self._container = av.open(str(path), "w", format="mp4")
        self._stream = self._container.add_stream("libx264", rate=fps, options={"crf": "20", "preset": "veryfast"})
        self._stream.pix_fmt = "yuv420p"
        self._size = (0, 0)

    def add(self, image: Image.Image, at: int) -> None:
        """See :class:`Video`."""
        image = image.convert("RGB")
        if self._size == (0, 0):
            width, height = _comfortable(image)
            self._size = self._stream.width, self._stream.height = width + width % 2, height + height % 2
        frame = self._av.VideoFrame.from_image(_letterboxed(image, self._size))  # type: ignore[no-untyped-call]
        frame.pts = at
        self._container.mux(self._stream.encode(frame))

    def close(self, at: int) -> None:
        """See :class:`Video`."""
        if self._size != (0, 0):
            self._container.mux(self._stream.encode())
        self._container.close()


class Gif:
    """An animated gif, of 256 colours a frame."""

    def __init__(self, path: Path, fps: int) -> None:
        """Begin the file; ``fps``: at most 50, which is what a gif can show.

        Raises:
            OSError: it cannot be written.
        """
        path.touch()
        self._path, self._fps = path, fps
        self._images: list[Image.Image] = []
        self._times: list[int] = []
        self._last: Image.Image | None = None
        self._size = (0, 0)

    def add(self, image: Image.Image, at: int) -> None:
        """See :class:`Video`."""
        if image is self._last:  # it is shown longer
            return
        self._last, image = image, image.convert("RGB")
        if self._size == (0, 0):
            self._size = _comfortable(image)
        small = _letterboxed(image, self._size).quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        self._images.append(small)
        self._times.append(at)

    def close(self, at: int) -> None:
        """See :class:`Video`."""
        if not self._images:
            return
        # hundredths of a second, of which the rounded sums are right even where each is not
        ticks = [round(100 * time / self._fps) for time in (*self._times, at)]
        durations = [10 * max(2, after - before) for before, after in pairwise(ticks)]
        first, *rest = self._images
        first.save(self._path, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)


def _comfortable(image: Image.Image) -> tuple[int, int]:
    factor = max(1, _SMALLEST // max(image.size))
    return image.width * factor, image.height * factor


def _letterboxed(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    image = fitted(image, *size)
    if image.size == size:
        return image
    canvas = Image.new("RGB", size)
    canvas.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
    return canvas
