from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from machine import REPOSITORY

from mosaic_pipe.base.errors import UserError
from mosaic_pipe.base.processes import this_host
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, current_manifest
from mosaic_pipe.store.states import State

GOLDEN = REPOSITORY / "tests" / "golden" / "manifest-v1.json"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def add(runs: Runs, run_id: str, **changes: object) -> RunDir:
    run = runs.new(run_id)
    run.path.mkdir(parents=True)
    manifest = msgspec.json.decode(GOLDEN.read_bytes(), type=Manifest)
    manifest.run_id = run_id
    for name, value in changes.items():
        setattr(manifest, name, value)
    run.write_manifest(manifest)
    return run


def assert_within(said: Any, found: Any) -> None:
    """All that was said is found; what later versions add has its defaults."""
    if isinstance(said, dict):
        assert said.keys() <= found.keys()
        for key, value in said.items():
            assert_within(value, found[key])
    elif isinstance(said, list):
        for one, other in zip(said, found, strict=True):
            assert_within(one, other)
    else:
        assert said == found


def test_manifests_of_version_1_still_load_and_say_the_same() -> None:
    data = GOLDEN.read_bytes()
    again = msgspec.json.encode(msgspec.json.decode(data, type=Manifest))
    assert_within(msgspec.json.decode(data), msgspec.json.decode(again))


def test_a_run_is_found_by_id_prefix_or_last(runs: Runs) -> None:
    add(runs, "01A" + "0" * 23)
    newest = add(runs, "01B" + "0" * 23)
    assert runs.find("last").path == newest.path
    assert runs.find("01b").path == newest.path
    assert runs.find("01B" + "0" * 23).path == newest.path


@pytest.mark.parametrize(("name", "said"), [("01", "stands for 2 runs"), ("zzz", "no run 'zzz'"), ("", "no run ''")])
def test_a_name_for_none_or_several_is_refused(runs: Runs, name: str, said: str) -> None:
    add(runs, "01A" + "0" * 23)
    add(runs, "01B" + "0" * 23)
    with pytest.raises(UserError, match=said):
        runs.find(name)


def test_no_path_leads_out_of_the_runs(runs: Runs) -> None:
    add(runs, "01A" + "0" * 23)
    for name in ("..", "../..", "/etc", "."):
        with pytest.raises(UserError):
            runs.find(name)


def test_there_may_be_no_runs(runs: Runs) -> None:
    assert list(runs.manifests()) == []
    with pytest.raises(UserError, match="no runs yet"):
        runs.find("last")


def test_a_directory_without_a_manifest_is_passed_over(runs: Runs) -> None:
    add(runs, "01A" + "0" * 23)
    runs.new("01B" + "0" * 23).path.mkdir()
    (runs.new("01C" + "0" * 23).path).mkdir()
    (runs.new("01C" + "0" * 23).manifest_file).write_text("{")
    assert [manifest.run_id for manifest in runs.manifests()] == ["01A" + "0" * 23]


def running(runs: Runs, *, host: str, pid: int) -> RunDir:
    run = add(runs, "01A" + "0" * 23, state=State.RUNNING)
    manifest = run.read_manifest()
    manifest.attempts[-1].host, manifest.attempts[-1].pid = host, pid
    run.write_manifest(manifest)
    shutil.rmtree(run.path / "attempts", ignore_errors=True)
    return run


def test_a_run_whose_supervisor_is_gone_is_set_right(runs: Runs) -> None:
    run = running(runs, host=this_host(), pid=1)  # pid 1 exists, and did not start then
    assert current_manifest(run).state is State.FAILED
    assert run.read_manifest().failure is not None


def test_a_run_on_another_machine_is_left_alone(runs: Runs) -> None:
    run = running(runs, host="elsewhere", pid=1)
    assert current_manifest(run).state is State.RUNNING


def test_the_log_tail_is_bounded(runs: Runs) -> None:
    run = add(runs, "01A" + "0" * 23)
    run.events_file(1).parent.mkdir(parents=True)
    assert run.log_tail(1) == []
    run.log_file(1).write_bytes(b"first\n" * 100_000 + b"\xff\xfe" + b"y" * 10_000 + b"\nlast")
    tail = run.log_tail(1, lines=3)
    assert tail[-1] == "last"
    assert len(tail) == 3
    assert max(map(len, tail)) <= 500
