"""Reading files of tensors without executing what is in them."""

import pickle
import pickletools
import re
from pathlib import Path
from typing import Any

import torch

from mosaic_worker.errors import UserError

CODE = "a pickle with code in it; refused, and nothing of it was executed"


class NoTensors(Exception):
    """The file is cut short, or nothing that torch has written."""


def load(path: Path) -> Any:
    """What ``torch.save`` wrote to ``path``: plain containers and tensors, on the CPU.

    Raises:
        UserError: it cannot be read, or holds a pickle that calls something.
        NoTensors: it is something else.
    """
    try:
        with path.open("rb") as file:
            return torch.load(file, weights_only=True, map_location="cpu")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, AttributeError) as error:
        if re.search("unsupported (global|class)", str(error), re.IGNORECASE) or _is_pickle_with_code(path):
            raise UserError(f"{path}: {CODE}") from error
        raise NoTensors(str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def _is_pickle_with_code(path: Path) -> bool:
    """Whether the file is a bare pickle that calls something; it is disassembled, not executed."""
    try:
        with path.open("rb") as file:
            return any(opcode.name in ("REDUCE", "INST", "OBJ", "NEWOBJ") for opcode, _, _ in pickletools.genops(file))
    except (ValueError, IndexError, UnicodeDecodeError):
        return False
