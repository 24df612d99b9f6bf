"""The JSON Schema of ``spec.json``, written from the types: ``python -m mosaic_pipe.spec.schema_file > FILE``."""

from __future__ import annotations

import json
import sys

import msgspec

from mosaic_pipe.spec.schema import RunSpec


def spec_schema() -> str:
    """JSON Schema (2020-12) of a RunSpec, as the text of the checked-in file."""
    return json.dumps(msgspec.json.schema(RunSpec), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(spec_schema())
