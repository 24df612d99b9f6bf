"""Files that ship with the package: ``conf/`` and ``workers/``.

In a checkout they are the repository's own folders; in a wheel they lie inside the package.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled(name: str) -> Path:
    """Directory ``name`` (``conf`` or ``workers``) as shipped with this installation."""
    shipped = _PACKAGE / "_bundled" / name
    return shipped if shipped.is_dir() else _PACKAGE.parent / name
