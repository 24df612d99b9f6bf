"""Words to the user beside the results."""

from __future__ import annotations

import sys


def show_notice(text: str) -> None:
    """Print ``text`` on stderr, now."""
    print(text, file=sys.stderr, flush=True)
