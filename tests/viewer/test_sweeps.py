"""What a page says of a sweep: its cells, its points, a study's trials."""

from __future__ import annotations

from pathlib import Path

import msgspec
from starlette.testclient import TestClient
from view_tests import golden

from mosaic_pipe.store.runs import Runs
from mosaic_pipe.store.states import State
from mosaic_pipe.store.studies import Axis, Definition, StudyDir
from mosaic_pipe.store.sweeps import Submission, Sweep, Sweeps


def make(output_dir: Path, *states: State | None) -> Sweep:
    """A sweep of one cell with a seed for each of ``states``; None: not begun."""
    manifest, sweep = golden(), Sweeps(output_dir).open("first")
    specs = [msgspec.structs.replace(manifest.spec, seed=seed) for seed in range(len(states))]
    points = [sweep.point(("algo=ppo", f"seed={spec.seed}"), spec) for spec in specs]
    sweep.submit(Submission(submitted=0.0, argv=[], launcher="local", settings={}, points=points, replaced=[], todo=[]))
    for point, state in zip(points, states, strict=True):
        if state:
            run = Runs(output_dir).new(point.run_id)
            run.events_file(1).parent.mkdir(parents=True)
            run.write_manifest(golden(run_id=point.run_id, sweep="first", seed=point.spec.seed, state=state))
    return sweep


def test_points_that_have_run_and_those_that_have_not(tmp_path: Path, client: TestClient) -> None:
    make(tmp_path, State.COMPLETED, State.COMPLETED, State.FAILED, None)
    page = client.get("/api/sweeps/first").json()
    assert page["states"] == {"COMPLETED": 2, "FAILED": 1, "NEW": 1}
    (cell,) = page["cells"]
    assert (cell["points"], cell["completed"], cell["half_width"]) == (4, 2, 0.0)
    assert [point["has_run"] for point in page["points"]] == [True, True, True, False]
    assert [point["point"] for point in page["points"]] == [f"seed={seed}" for seed in range(4)]
    curves = client.get("/api/sweeps/first/curves?metric=sps").json()
    assert (curves["metric"], curves["groups"][0]["runs"]) == ("sps", 3)


def test_the_trials_of_a_study_have_their_value(tmp_path: Path, client: TestClient) -> None:
    sweep = make(tmp_path, State.COMPLETED, State.CANCELLED)
    space = {"seed": Axis(low=0, high=9, whole=True)}
    reference = golden().spec
    StudyDir(sweep.path).define(Definition(metric="sps", direction="maximize", space=space, reference=reference))
    StudyDir(sweep.path).mark_pruned(next(reversed(sweep.points().values())).run_id)
    page = client.get("/api/sweeps/first").json()
    assert page["study"] == {"metric": "sps", "direction": "maximize"}
    assert page["states"] == {"COMPLETED": 1, "PRUNED": 1}
    assert page["points"][0]["value"] == golden().summary.sps


def test_what_is_no_sweep_is_not_there(tmp_path: Path, client: TestClient) -> None:
    (tmp_path / "sweeps" / "empty").mkdir(parents=True)
    for name in ("empty", "other", "..", "%2e%2e"):
        assert client.get(f"/api/sweeps/{name}/curves").status_code == 404


def test_a_changed_sweep_is_read_anew(tmp_path: Path, client: TestClient) -> None:
    make(tmp_path, State.RUNNING)
    assert client.get("/api/sweeps/first").json()["points"][0]["done"] == 4608
    make_again = golden(run_id=next(iter(Sweep(tmp_path / "sweeps" / "first").points().values())).run_id)
    make_again.summary.env_steps = 5000
    Runs(tmp_path).new(make_again.run_id).write_manifest(make_again)
    assert client.get("/api/sweeps/first").json()["points"][0]["done"] == 5000
