"""Pictures as text: each character shows two pixels, the upper one as its colour, the lower one as its background."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence

Colour = Callable[[int, int, int], str]
"""What follows ``38;`` or ``48;`` in an escape sequence that selects the colour (red, green, blue)."""

_CUBE = [bisect((48, 115, 155, 195, 235), value) for value in range(256)]
"""The step of a channel in the colour cube of 256-colour terminals: 0, 95, 135, 175, 215 or 255."""


def true_colour(red: int, green: int, blue: int) -> str:
    """24 bits."""
    return f"2;{red};{green};{blue}"


def one_of_256(red: int, green: int, blue: int) -> str:
    """The nearest colour of the cube, or of the 24 grays."""
    if red == green == blue and 8 <= red < 244:
        return f"5;{232 + (red - 3) // 10}"
    return f"5;{16 + 36 * _CUBE[red] + 6 * _CUBE[green] + _CUBE[blue]}"


def half_blocks(pixels: bytes, width: int, colour: Colour) -> list[str]:
    """Lines of text that show a picture; each leaves the terminal's colours as it found them.

    Args:
        pixels: rows of ``width`` RGB pixels, an even number of them.
        width: in pixels, and characters.
        colour: how the terminal takes colours.
    """
    row = 3 * width
    return [
        _line(pixels[at : at + row], pixels[at + row : at + 2 * row], colour) for at in range(0, len(pixels), 2 * row)
    ]


def _line(upper: Sequence[int], lower: Sequence[int], colour: Colour) -> str:
    parts, foreground, background = [], None, None
    for at in range(0, len(upper), 3):
        above, below = (upper[at], upper[at + 1], upper[at + 2]), (lower[at], lower[at + 1], lower[at + 2])
        if above != foreground:
            foreground = above
            parts.append(f"\x1b[38;{colour(*above)}m")
        if below != background:
            background = below
            parts.append(f"\x1b[48;{colour(*below)}m")
        parts.append("▀")
    return "".join(parts) + "\x1b[0m"
