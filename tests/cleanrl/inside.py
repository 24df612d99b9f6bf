"""What tests ask about checkpoint files; run by the worker's Python, which has torch. Prints JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import torch

CLOCKS = ("elapsed",)


def facts(path: str) -> dict[str, Any]:
    """Names, and whether training has left its mark."""
    state = torch.load(path, weights_only=True)
    finite = all(torch.isfinite(t).all() for module in state["modules"].values() for t in module.values())
    return {
        "modules": sorted(state["modules"]),
        "values": sorted(state["values"]),
        "finite": bool(finite),
        "moments": sum(len(optimizer["state"]) for optimizer in state["optimizers"].values()),
        "env_steps": state["env_steps"],
        "algo": state["algo"],
        "parameters": {
            f"{name}.{key}": list(value.shape)
            for name, module in state["modules"].items()
            for key, value in module.items()
        },
    }


def differences(one: str, other: str) -> list[str]:
    """Where two checkpoints differ, to the last bit, clocks aside."""
    states = [torch.load(path, weights_only=True) for path in (one, other)]
    for state in states:
        for clock in CLOCKS:
            state.pop(clock, None)
        # seconds that an episode took, which gym writes into the last step's infos
        for name in ("info", "infos", "item"):
            state.get("values", {}).pop(name, None)
    return list(_walk(states[0], states[1], ""))


def _walk(one: Any, other: Any, path: str) -> Iterator[str]:
    if type(one) is not type(other):
        yield f"{path}: {type(one).__name__}, {type(other).__name__}"
    elif isinstance(one, torch.Tensor):
        same = one.shape == other.shape and one.dtype == other.dtype
        if not same or not torch.equal(one.nan_to_num(), other.nan_to_num()):
            yield path
    elif isinstance(one, dict):
        for key in {**one, **other}:
            if key not in one or key not in other:
                yield f"{path}.{key}: only in one"
            else:
                yield from _walk(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            yield f"{path}: {len(one)} and {len(other)} items"
        for index, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from _walk(a, b, f"{path}.{index}")
    elif one != other and not (one != one and other != other):
        yield f"{path}: {one!r}, {other!r}"


if __name__ == "__main__":
    question, *files = sys.argv[1:]
    if question == "facts":
        print(json.dumps(facts(*files)))
    elif question == "facts of each":
        print(json.dumps([facts(file) for file in files]))
    else:
        pairs = zip(files[::2], files[1::2], strict=True)
        print(json.dumps([difference for pair in pairs for difference in differences(*pair)]))
