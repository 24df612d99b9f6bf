from __future__ import annotations

from pathlib import Path

import pytest
from mosaic_worker.errors import UserError
from mosaic_worker.script import Header, read_header


def header(folder: Path, text: str | bytes) -> Header:
    file = folder / "x.sh"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_header(file)


def test_what_a_header_says(tmp_path: Path) -> None:
    text = (
        "#!/bin/bash\n# x.sh - a script\n\n# @description: DoorKey: small → large \n#@env_family minigrid\n"
        "# @phases: small, very large\n# @author: me\n## @total_timesteps: 600_000\nset -e\n# @phases: too late\n"
    )
    assert header(tmp_path, text) == Header("DoorKey: small → large", "minigrid", ("small", "very large"), 600_000)


@pytest.mark.parametrize("text", ["", "echo hello\n", "\n\n#\n# @\n", b"\xff\xfe\x00", "# see @phases below\n"])
def test_a_header_may_say_nothing(tmp_path: Path, text: str | bytes) -> None:
    assert header(tmp_path, text) == Header()


def test_other_ways_to_write_it(tmp_path: Path) -> None:
    assert header(tmp_path, "# @phases: 3\r\n# @total_timesteps: 6e5\r\n") == Header(
        None, None, ("1", "2", "3"), 600_000
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("# @total_timesteps: many", "x.sh:2: @total_timesteps: expected a whole number, got 'many'"),
        ("# @total_timesteps: 0", "expected 1 or more"),
        ("# @total_timesteps: -5", "expected a whole number"),
        ("# @total_timesteps: 1.5", "expected a whole number"),
        ("# @total_timesteps: 1e999", "expected a whole number"),
        ("# @total_timesteps: nan", "expected a whole number"),
        ("# @total_timesteps:", "expected a whole number, got ''"),
        ("# @total_timestep: 5", "did you mean @total_timesteps?"),
        ("# @phase: a, b", "did you mean @phases?"),
        ("# @phases: a,,b", "expected different names with commas between them"),
        ("# @phases: a, a", "expected different names"),
        ("# @phases: 0", "expected different names"),
        ("# @phases: 99999999999999999999", "expected different names"),
        ("# @phases:", "expected different names"),
        ("# @env_family: mini grid", "expected a name"),
        ("# @env_family: ../x", "expected a name"),
        ("# @description:", "expected a text"),
        ("# @description: a\n# @description: b", "x.sh:3: @description: it stands there twice"),
    ],
)
def test_a_wrong_value_names_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        header(tmp_path, f"#!/bin/bash\n{line}\n")
    assert said in str(refused.value)


def test_what_is_no_script(tmp_path: Path) -> None:
    folder = tmp_path / "folder.sh"
    folder.mkdir()
    (tmp_path / "train.py").touch()
    for name, said in (("none.sh", "No such file"), ("folder.sh", "not a file"), ("train.py", "not a *.sh file")):
        with pytest.raises(UserError, match=str(tmp_path / name)) as refused:
            read_header(tmp_path / name)
        assert said in str(refused.value)
