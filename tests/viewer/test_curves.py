"""Curves: bounded, right after resuming, the mean of seeds."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from starlette.testclient import TestClient
from view_tests import AddRun

from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.telemetry.series import Series
from mosaic_pipe.viewer.compare import BUCKETS, Comparison, by_difference
from mosaic_pipe.viewer.curves import RunCurves


class Log:
    """Lines of a run's events."""

    def __init__(self, attempt: int = 1) -> None:
        self.attempt, self.lines = attempt, list[bytes]()

    def add(self, event: str, **payload: Any) -> Log:
        envelope = {"run_id": "x", "attempt": self.attempt, "seq": len(self.lines) + 1, "time": 0.0}
        self.lines.append(msgspec.json.encode({"event": event, **envelope, "payload": payload}))
        return self

    def started(self) -> Log:
        return self.add("run_started", pid=1, python="3")

    def episode(self, step: int, value: float | str) -> Log:
        return self.add("episode", env_steps=step, episode_return=value, episode_length=1, wall_time=0.0)

    def write(self, run: RunDir) -> None:
        run.events_file(self.attempt).parent.mkdir(parents=True, exist_ok=True)
        run.events_file(self.attempt).write_bytes(b"".join(line + b"\n" for line in self.lines))


def curve(curves: RunCurves, name: str = "episode_return") -> dict[str, list[float]]:
    curves.update()
    found: dict[str, list[float]] = curves.as_json()["series"][name]
    return found


def test_a_series_is_bounded_and_loses_nothing() -> None:
    series, numbers = Series(100), random.Random(1)
    values = {step: numbers.random() for step in range(0, 1_000_000, 37)}
    for step, value in values.items():
        series.add(step, value)
    assert 50 <= len(series.buckets) <= 100
    buckets = series.buckets.values()
    assert sum(one.count for one in buckets) == len(values)
    assert abs(sum(one.total for one in buckets) - sum(values.values())) < 1e-6
    assert min(one.low for one in buckets) == min(values.values())


def test_curves_grow_and_hold_every_metric(add: AddRun) -> None:
    log = (
        Log().started().episode(10, 1.0).add("metrics", env_steps=10, wall_time=1.0, sps=5.0, policy_loss=0.5, note="x")
    )
    run = add(events=log.lines)
    curves = RunCurves(run)
    assert curve(curves)["y"] == [1.0]
    assert curve(curves, "policy_loss")["y"] == [0.5]
    assert "note" not in curves.names()
    log.episode(20, "NaN").episode(30, 3.0).write(run)
    assert curve(curves)["x"] == [10.0, 30.0]


def test_what_is_done_again_after_resuming_counts_once(add: AddRun) -> None:
    run = add(events=Log().started().episode(10, 1.0).episode(20, 2.0).episode(30, 3.0).lines)
    curves = RunCurves(run)
    assert curve(curves)["x"] == [10.0, 20.0, 30.0]
    Log(2).started().add("checkpoint_loaded", path="/x", env_steps=20).episode(31, 9.0).write(run)
    assert curve(curves)["x"] == [10.0, 20.0, 31.0]
    Log(3).started().episode(5, 7.0).write(run)
    assert curve(curves)["x"] == [5.0]


def test_lines_that_are_no_events_are_passed_over(add: AddRun) -> None:
    good = Log().started().episode(10, 1.0).lines
    assert curve(RunCurves(add(events=[b"\xff{", *good, b'{"event":"later"}', b"[]"])))["y"] == [1.0]


def test_no_run_has_more_metrics_than_a_page_can_hold(add: AddRun) -> None:
    many = {f"metric{number}": 1.0 for number in range(1000)}
    run = add(events=Log().started().add("metrics", env_steps=1, wall_time=0.0, sps=1.0, **many).lines)
    curves = RunCurves(run)
    curves.update()
    assert len(curves.as_json()["series"]) == 200


def test_seeds_are_one_line_with_a_band(add: AddRun) -> None:
    runs = [add(events=[line for step in (10, 20) for line in Log().episode(step, seed).lines]) for seed in (1.0, 3.0)]
    runs.append(add(events=Log().episode(10, 5.0).lines))
    group = Comparison().compare({"cell": runs})["groups"][0]
    assert (group["x"], group["y"], group["low"], group["high"]) == ([10, 20], [3, 2], [1, 1], [5, 3])
    assert group["seeds"] == 3


def test_runs_of_any_length_are_put_together(add: AddRun) -> None:
    long = add(events=Log().started().lines + [Log().episode(step, 1.0).lines[0] for step in range(0, 50_000, 7)])
    short = add(events=[Log().episode(step, 3.0).lines[0] for step in range(0, 500, 5)])
    group = Comparison().compare({"cell": [long, short]})["groups"][0]
    assert len(group["x"]) <= BUCKETS
    assert group["y"][0] == 2.0
    assert group["y"][-1] == 1.0
    assert group["x"] == sorted(group["x"])


def test_a_comparison_is_read_little_by_little(add: AddRun, monkeypatch: Any) -> None:
    monkeypatch.setattr("mosaic_pipe.viewer.compare.READ_SECONDS", 0.0)
    runs = {str(number): [add(events=Log().episode(1, 1.0).lines)] for number in range(3)}
    comparison = Comparison()
    assert comparison.compare(runs)["read"] < 3
    for _ in range(5):
        found = comparison.compare(runs)
    assert found["read"] == found["of"] == 3


def test_runs_are_told_apart_by_what_differs(add: AddRun, client: TestClient) -> None:
    first = add(seed=1).read_manifest().spec
    algo = msgspec.structs.replace(first.algo, learning_rate=0.5)
    runs = [add(seed=1), add(seed=2), add(seed=1, algo=algo)]
    specs = {run.path.name: run.read_manifest().spec for run in runs}
    assert sorted(map(len, by_difference(specs).values())) == [1, 2]
    assert "algo.learning_rate=0.5" in by_difference(specs)
    found = client.get("/api/compare", params={"runs": ",".join(specs)}).json()
    assert [group["runs"] for group in found["groups"]] == [2, 1]
