"""Runs inside the worker's virtualenv: what the worker makes of each spec, or why it refuses it. Prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError
from mosaic_worker.spec import load_spec
from xuance_worker.config import XuanCeConfig


def answer(file: Path) -> Any:
    try:
        return XuanCeConfig.from_spec(load_spec(file)).describe()
    except UserError as error:
        return str(error)


print(json.dumps({file.stem: answer(file) for file in map(Path, sys.argv[1:])}))
