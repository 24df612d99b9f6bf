"""Recorded steps on disk: what is written is read, and what is not a dataset is one clear message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mosaic_worker.datasets import DESCRIPTION, identity, read_description
from mosaic_worker.errors import UserError
from mosaic_worker.files import fingerprint
from mosaic_worker.rl.dataset_arrays import Arrays, load, write

STEPS = 5
SPACES: dict[str, Any] = {
    "observation_space": {"type": "box", "shape": [3], "dtype": "float32"},
    "action_space": {"type": "discrete", "n": 2, "start": 0},
}
FACTS = {"env": {"id": "CartPole-v1", "kwargs": {}}, **SPACES}


def steps() -> Arrays:
    return {
        "observations": np.arange(STEPS * 3, dtype=np.float32).reshape(STEPS, 3),
        "actions": np.array([0, 1, 0, 1, 1]),
        "rewards": np.arange(STEPS, dtype=np.float64),
        "terminations": np.array([False, True, False, False, False]),
        "truncations": np.array([False, False, False, False, True]),
        "next_observations": np.arange(3, STEPS * 3 + 3, dtype=np.float32).reshape(STEPS, 3),
    }


def read(folder: Path, spaces: dict[str, Any]) -> Arrays:
    return load(folder, spaces, str(read_description(folder)["sha256"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "dataset", steps(), FACTS)
    return tmp_path / "dataset"


def describe(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the description, and make it agree with itself and with the files again."""
    description = json.loads((folder / DESCRIPTION).read_text())
    change(description)
    for name, said in description["arrays"].items():
        if (file := folder / f"{name}.npy").exists():
            said.update(fingerprint(file))
    description["sha256"] = identity(description)
    (folder / DESCRIPTION).write_text(json.dumps(description))


def describe_as(folder: Path, **facts: Any) -> None:
    """Put other facts into the description."""
    description = json.loads((folder / DESCRIPTION).read_text())
    (folder / DESCRIPTION).write_text(json.dumps({**description, **facts}))


def replace(name: str, array: np.ndarray) -> Callable[[Path], None]:
    """Put another array in place, and describe it as it is."""

    def spoil(folder: Path) -> None:
        np.save(folder / f"{name}.npy", array, allow_pickle=True)
        kind = {"dtype": str(array.dtype), "shape": list(array.shape)}
        describe(folder, lambda description: description["arrays"][name].update(kind))

    return spoil


def test_what_is_written_is_read(folder: Path) -> None:
    found = read(folder, SPACES)
    assert found.keys() == steps().keys()
    for name, array in steps().items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
    assert read_description(folder)["steps"] == STEPS


def test_its_identity_is_what_can_be_learned_from_it(tmp_path: Path) -> None:
    first = write(tmp_path / "a", steps(), {**FACTS, "source": {"run": "A"}})
    again = write(tmp_path / "b", steps(), {**FACTS, "source": {"run": "B"}})
    other = write(tmp_path / "c", {**steps(), "rewards": np.zeros(STEPS)}, FACTS)
    assert first["sha256"] == again["sha256"] != other["sha256"]


def test_writing_replaces_a_dataset_or_leaves_nothing(folder: Path) -> None:
    write(folder, {**steps(), "rewards": np.zeros(STEPS)}, FACTS)
    assert not read(folder, SPACES)["rewards"].any()
    with pytest.raises(ValueError, match="pickle"):
        write(folder.with_name("other"), {**steps(), "actions": np.array([print] * STEPS)}, FACTS)
    assert [path.name for path in folder.parent.iterdir()] == ["dataset"]


def test_what_a_killed_writer_left_is_removed(folder: Path) -> None:
    for name in (".dataset.new.tmp", ".dataset.old.tmp"):
        (folder.parent / name).mkdir()
    write(folder, steps(), FACTS)
    assert [path.name for path in folder.parent.iterdir()] == ["dataset"]


def test_another_one_in_its_place_is_refused(folder: Path) -> None:
    submitted = read_description(folder)["sha256"]
    write(folder, {**steps(), "rewards": np.zeros(STEPS)}, FACTS)
    with pytest.raises(UserError, match="another dataset is there"):
        load(folder, SPACES, submitted)


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (lambda folder: folder.rename(folder.with_name("away")), "dataset.json: cannot be read: No such file"),
    "not JSON": (lambda folder: (folder / DESCRIPTION).write_text("{"), "dataset.json: not JSON"),
    "a list": (lambda folder: (folder / DESCRIPTION).write_text("[]"), "a dataset of format None"),
    "newer": (lambda folder: describe(folder, lambda said: said.update(format=2)), "a dataset of format 2"),
    "no spaces": (
        lambda folder: (folder / DESCRIPTION).write_text('{"format": 1, "sha256": "", "env": {}}'),
        "dataset.json: has no env.id",
    ),
    "no arrays": (lambda folder: describe_as(folder, arrays=3), "dataset.json: has no arrays.observations.dtype"),
    "edited": (
        lambda folder: (folder / DESCRIPTION).write_text((folder / DESCRIPTION).read_text().replace("Cart", "Kart")),
        "was changed since it was written",
    ),
    "an array gone": (lambda folder: (folder / "rewards.npy").unlink(), "rewards.npy: cannot be read: No such file"),
    "cut short": (
        lambda folder: (folder / "actions.npy").write_bytes((folder / "actions.npy").read_bytes()[:-8]),
        "actions.npy: cut short, or of something else: it has 160 bytes and should have 168",
    ),
    "empty": (lambda folder: write(folder, {k: v[:0] for k, v in steps().items()}, FACTS), "it holds no steps"),
    "a bit flipped": (
        lambda folder: (folder / "rewards.npy").write_bytes((folder / "rewards.npy").read_bytes()[:-1] + b"\x01"),
        "rewards.npy: not what was written",
    ),
    "a pickle": (replace("rewards", np.array([print] * STEPS)), "rewards.npy: no array of numbers"),
    "other lengths": (replace("rewards", np.zeros(4)), "rewards.npy: float64 of shape (4,), and should be"),
    "another type": (
        replace("actions", np.zeros(STEPS, np.int32)),
        "actions.npy: int32 of shape (5,), and should be int64 of shape (5,)",
    ),
    "not a number": (replace("rewards", np.full(STEPS, np.nan)), "rewards.npy: holds numbers that are not finite"),
    "no such action": (replace("actions", np.full(STEPS, 2)), "actions.npy: holds actions outside 0 to 1"),
    "no end": (replace("truncations", np.zeros(STEPS, bool)), "its last step ends no episode"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_no_dataset_is_refused(folder: Path, name: str) -> None:
    spoil, said = SPOILED[name]
    spoil(folder)
    with pytest.raises(UserError) as refused:
        read(folder, SPACES)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("space", "kind"),
    [
        ("observation_space", {"type": "box", "shape": [4], "dtype": "float32"}),
        ("observation_space", {"type": "box", "shape": [3], "dtype": "float64"}),
        ("action_space", {"type": "discrete", "n": 3, "start": 0}),
        ("action_space", {"type": "box", "shape": [1], "dtype": "float32", "low": -1.0, "high": 1.0}),
    ],
)
def test_other_spaces_are_refused(folder: Path, space: str, kind: dict[str, Any]) -> None:
    with pytest.raises(UserError) as refused:
        read(folder, {**SPACES, space: kind})
    assert f"its {space} is {SPACES[space]}, and the environment's is {kind}" in str(refused.value)
