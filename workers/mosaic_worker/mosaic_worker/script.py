"""The header of a user's script: comment lines at its top that say what it is.

# @description: DoorKey, from small to large
# @env_family: minigrid
# @phases: small, large
# @total_timesteps: 600000
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from mosaic_worker.errors import UserError

_LINE = re.compile(r"#+\s*@([\w-]+)\s*:?\s*(.*)")
_FAMILY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_MAX_NUMBER = 2**53
_MAX_PHASES = 1000


@dataclass(frozen=True)
class Header:
    """What a script says of itself; None: nothing. No ``phases``: it may have any."""

    description: Optional[str] = None
    env_family: Optional[str] = None
    phases: Tuple[str, ...] = ()
    total_timesteps: Optional[int] = None


def read_header(script: Path) -> Header:
    """The header of the ``*.sh`` file ``script``.

    Raises:
        UserError: there is no such file, or a value of its header is wrong; names the line.
    """
    found: Dict[str, Any] = {}
    for number, key, text in _entries(script):
        where = f"{script}:{number}: @{key}"
        if key not in _VALUES:
            near = get_close_matches(key, _VALUES, n=1, cutoff=0.8)
            if near:  # others, @author say, are nobody's business
                raise UserError(f"{where}: did you mean @{near[0]}?")
            continue
        if key in found:
            raise UserError(f"{where}: it stands there twice")
        try:
            found[key] = _VALUES[key](text)
        except ValueError as error:
            raise UserError(f"{where}: {error}, got {text!r}") from error
    return Header(**found)


def whole_number(text: str) -> int:
    """``600000``, ``600_000`` and ``6e5`` alike.

    Raises:
        ValueError: anything else, or less than 0.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 <= number < _MAX_NUMBER and number.is_integer()):
        raise ValueError("expected a whole number")
    return int(number)


def _entries(script: Path) -> Iterator[Tuple[int, str, str]]:
    """Line number, key and text of each ``# @key: text`` above the first line that is no comment."""
    if script.suffix != ".sh":
        raise UserError(f"{script}: not a *.sh file")
    try:
        if script.exists() and not script.is_file():
            raise UserError(f"{script}: not a file")
        with script.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text = line.decode(errors="replace").strip()
                if text and not text.startswith("#"):
                    return
                entry = _LINE.fullmatch(text)
                if entry:
                    yield number, entry[1], entry[2]
    except OSError as error:
        raise UserError(f"{script}: cannot be read: {error.strerror}") from error


def _description(text: str) -> str:
    if not text:
        raise ValueError("expected a text")
    return text


def _env_family(text: str) -> str:
    if not _FAMILY.fullmatch(text):
        raise ValueError("expected a name of letters, digits and _.-")
    return text


def _phases(text: str) -> Tuple[str, ...]:
    """Names with commas between them; a number stands for the phases 1 to that number."""
    if text.isdecimal() and 1 <= int(text[:5]) <= _MAX_PHASES:
        return tuple(str(number) for number in range(1, int(text) + 1))
    names = tuple(name.strip() for name in text.split(","))
    if text.isdecimal() or "" in names or len(set(names)) < len(names) or len(names) > _MAX_PHASES:
        raise ValueError(f"expected different names with commas between them, or how many, up to {_MAX_PHASES}")
    return names


def _total_timesteps(text: str) -> int:
    steps = whole_number(text)
    if not steps:
        raise ValueError("expected 1 or more")
    return steps


_VALUES: Dict[str, Callable[[str], Any]] = {
    "description": _description,
    "env_family": _env_family,
    "phases": _phases,
    "total_timesteps": _total_timesteps,
}
