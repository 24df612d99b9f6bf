"""Random actions on any Gymnasium environment: the smallest complete worker."""

import json
from pathlib import Path


def get_worker_metadata():
    """The static description of this worker, as in ``capabilities.json``."""
    return json.loads((Path(__file__).parent / "capabilities.json").read_text(encoding="utf-8"))
