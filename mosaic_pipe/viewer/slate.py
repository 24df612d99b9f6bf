"""Words as a picture, where there are no frames and no JavaScript to say why."""

from __future__ import annotations

import io
import textwrap

from PIL import Image, ImageDraw, ImageFont

_SIZE, _INK, _GROUND = (640, 360), (210, 210, 210), (20, 22, 26)


def slate(note: str) -> bytes:
    """``note`` as a JPEG."""
    image = Image.new("RGB", _SIZE, _GROUND)
    text = "\n".join(textwrap.wrap(note[:400], 60)) or "waiting for a frame"
    font = ImageFont.load_default(18)
    ImageDraw.Draw(image).multiline_text((_SIZE[0] / 2, _SIZE[1] / 2), text, _INK, font, anchor="mm", align="center")
    written = io.BytesIO()
    image.save(written, "JPEG", quality=85)
    return written.getvalue()
