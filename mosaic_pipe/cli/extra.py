"""Commands that need an extra of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mosaic_pipe.base.errors import UserError


@contextmanager
def needs_view() -> Iterator[None]:
    """For the imports of what shows runs.

    Raises:
        UserError: a package of the extra ``view`` is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(f"this needs the package {error.name}", hint="pip install 'mosaic-pipe[view]'") from error
