"""The arrays of a dataset: written all at once, and read with everything about them checked. Needs NumPy alone."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import IO, Any, Dict, Tuple

import numpy as np

from mosaic_worker.datasets import ARRAYS, DESCRIPTION, FORMAT, Description, array_file, identity, read_description
from mosaic_worker.errors import UserError
from mosaic_worker.files import fingerprint, write_atomically

Arrays = Dict[str, np.ndarray]
"""By the names in :data:`~mosaic_worker.datasets.ARRAYS`, each with as many rows as there are steps."""


def describe_spaces(env: Any) -> Dict[str, Description]:
    """The spaces of a Gymnasium environment as plain data: ``observation_space`` and ``action_space``.

    Raises:
        UserError: one is neither of arrays nor of discrete actions.
    """
    seen, taken = _described(env.observation_space), _described(env.action_space)
    if taken["type"] == "box":  # bounds of observations are another matter: they differ between versions of Gymnasium
        taken.update(low=_bound(env.action_space.low), high=_bound(env.action_space.high))
    return {"observation_space": seen, "action_space": taken}


def write(folder: Path, arrays: Arrays, facts: Dict[str, Any]) -> Description:
    """Write a dataset to ``folder``: at any moment it is whole, or there is none. What a killed writer left is removed.

    Args:
        folder: replaced where it exists.
        arrays: one row a step, episode after episode; the last row of each has a termination or a truncation.
        facts: ``env`` (``id``, ``kwargs``), those of :func:`describe_spaces`, and whatever else should be known.
    """
    for left in folder.parent.glob(f".{folder.name}.*.tmp"):
        shutil.rmtree(left)
    temporary, replaced = (folder.with_name(f".{folder.name}.{kind}.tmp") for kind in ("new", "old"))
    temporary.mkdir()
    try:
        description = {"format": FORMAT, "steps": len(arrays["rewards"]), **facts, "arrays": {}}
        for name in ARRAYS:
            file = array_file(temporary, name)
            write_atomically(file, partial(_save, arrays[name]))
            kind = {"dtype": str(arrays[name].dtype), "shape": list(arrays[name].shape)}
            description["arrays"][name] = {**kind, **fingerprint(file)}
        description["sha256"] = identity(description)
        text = json.dumps(description, indent=2) + "\n"
        write_atomically(temporary / DESCRIPTION, lambda out: out.write(text.encode()))
        if folder.exists():
            folder.rename(replaced)
        temporary.rename(folder)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return description


def _save(array: np.ndarray, file: IO[bytes]) -> None:
    np.save(file, array, allow_pickle=False)


def load(folder: Path, spaces: Dict[str, Description], sha256: str) -> Arrays:
    """The arrays of the dataset at ``folder``, for an environment with these spaces.

    Args:
        folder: of the dataset.
        spaces: from :func:`describe_spaces`.
        sha256: of the dataset that it should be, from its description.

    Raises:
        UserError: it is another one, was recorded in other spaces, an array is not what was written, or holds what no
            step has.
    """
    description = read_description(folder)
    if description["sha256"] != sha256:
        raise UserError(f"{folder}: another dataset is there than when the run was submitted")
    for name, ours in spaces.items():
        if description[name] != ours:
            raise UserError(f"{folder}: its {name} is {description[name]}, and the environment's is {ours}")
    arrays = {name: _array(folder, name, description) for name in ARRAYS}
    seen, taken = _kind(description["observation_space"]), _kind(description["action_space"])
    flag: Any = ((), "bool")
    kinds = dict(zip(ARRAYS, (seen, taken, ((), "float64"), flag, flag, seen)))
    for name, (shape, dtype) in kinds.items():
        found, wanted = arrays[name], (description["steps"], *shape)
        if found.shape != wanted or str(found.dtype) != dtype:
            file = array_file(folder, name)
            raise UserError(f"{file}: {found.dtype} of shape {found.shape}, and should be {dtype} of shape {wanted}")
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise UserError(f"{array_file(folder, name)}: holds numbers that are not finite")
    _check_actions(folder, arrays["actions"], description["action_space"])
    if not (arrays["terminations"][-1] or arrays["truncations"][-1]):
        raise UserError(f"{folder}: its last step ends no episode: it should be a termination or a truncation")
    return arrays


def _described(space: Any) -> Description:
    if hasattr(space, "n") and not space.shape:
        return {"type": "discrete", "n": int(space.n), "start": int(space.start)}
    if not hasattr(space, "low"):
        raise UserError(f"{space}: a dataset holds arrays and discrete actions, and nothing else")
    return {"type": "box", "shape": list(space.shape), "dtype": str(space.dtype)}


def _kind(space: Description) -> Tuple[Tuple[int, ...], str]:
    """Shape and dtype of one element."""
    return (tuple(space["shape"]), space["dtype"]) if space["type"] == "box" else ((), "int64")


def _check_actions(folder: Path, actions: np.ndarray, space: Description) -> None:
    if space["type"] == "discrete":
        first, last = space["start"], space["start"] + space["n"] - 1
        if actions.min() < first or actions.max() > last:
            raise UserError(f"{array_file(folder, 'actions')}: holds actions outside {first} to {last}")
    elif (actions < np.array(space["low"], float)).any() or (actions > np.array(space["high"], float)).any():
        raise UserError(f"{array_file(folder, 'actions')}: holds actions outside the bounds of the space")


def _array(folder: Path, name: str, description: Description) -> np.ndarray:
    file, said = array_file(folder, name), description["arrays"][name]
    if fingerprint(file)["sha256"] != said["sha256"]:
        raise UserError(f"{file}: not what was written: its sha256 is another one")
    try:
        found = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UserError(f"{file}: no array of numbers: {error}") from error
    if str(found.dtype) != said["dtype"] or list(found.shape) != said["shape"]:
        raise UserError(f"{file}: {found.dtype} {found.shape}, and {DESCRIPTION} says otherwise")
    return found


def _bound(values: np.ndarray) -> Any:
    """One number where all are the same; infinities as text, which JSON lacks."""
    said = np.array([float(one) if np.isfinite(one) else str(float(one)) for one in values.flat], dtype=object)
    return said[0] if len(set(said)) == 1 else said.reshape(values.shape).tolist()
