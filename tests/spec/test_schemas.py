from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import msgspec
import pytest
from machine import REPOSITORY

from mosaic_pipe.spec.compose import compose_spec, load_spec

EXAMPLES = sorted((REPOSITORY / "tests" / "golden").glob("spec-v*.json"))


def test_schema_files_are_what_the_types_say() -> None:
    done = subprocess.run([sys.executable, REPOSITORY / "scripts" / "write_schemas", "--check"], check=False)
    assert done.returncode == 0, "run scripts/write_schemas"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_specs_of_every_version_still_load(file: object) -> None:
    data = file.read_bytes()  # type: ignore[attr-defined]
    spec = load_spec(data, str(file))
    schema = json.loads((REPOSITORY / "docs" / "schemas" / "spec.json").read_text())
    jsonschema.validate(json.loads(msgspec.json.encode(spec)), schema)


def test_there_is_an_example_of_the_current_version() -> None:
    assert [file.stem for file in EXAMPLES] == ["spec-v1"]


def test_the_schema_refuses_what_the_types_refuse() -> None:
    schema = json.loads((REPOSITORY / "docs" / "schemas" / "spec.json").read_text())
    spec = json.loads(EXAMPLES[0].read_text())
    for change in ({"seed": -1}, {"extra": 1}, {"mode": "x"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**spec, **change}, schema)


def test_composing_gives_what_the_schema_wants() -> None:
    spec = json.loads(EXAMPLES[0].read_text())
    del spec["run_id"]
    assert compose_spec(spec).env.id == "CartPole-v1"
