"""Parts of sweeps by themselves: who gets an attempt, what a mean is worth, what earlier runs tell."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from machine import REPOSITORY

from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.store.attempts import Owner, newest_attempt, take_attempt, this_owner
from mosaic_pipe.store.manifest import Manifest
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.runs import Runs, next_attempt
from mosaic_pipe.store.states import State
from mosaic_pipe.store.sweeps import Submission, Sweep, Sweeps
from mosaic_pipe.sweep.estimate import estimate
from mosaic_pipe.sweep.plan import differences, make_plan
from mosaic_pipe.sweep.status import PointStatus
from mosaic_pipe.sweep.summary import cells, interval

GOLDEN = REPOSITORY / "tests" / "golden" / "manifest-v1.json"


def spec(**changes: Any) -> RunSpec:
    golden = msgspec.json.decode(GOLDEN.read_bytes(), type=Manifest).spec
    return msgspec.structs.replace(golden, **changes)


def manifest(**changes: Any) -> Manifest:
    found = msgspec.json.decode(GOLDEN.read_bytes(), type=Manifest)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def _take(path: Path, results: Any) -> None:
    results.put(take_attempt(RunDir(path), 1, this_owner()))


def test_of_many_who_want_an_attempt_one_gets_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for round_ in range(20):
        results = context.SimpleQueue()
        takers = [context.Process(target=_take, args=(tmp_path / str(round_), results)) for _ in range(8)]
        for taker in takers:
            taker.start()
        assert sorted(results.get() for _ in takers) == [False] * 7 + [True]
        for taker in takers:
            taker.join()
        assert newest_attempt(RunDir(tmp_path / str(round_))) == 1
        assert [entry.name for entry in (tmp_path / str(round_) / "attempts").iterdir()] == ["1"]


def test_whoever_wins_the_rename_and_is_told_otherwise_has_won(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def answer_gets_lost(self: Path, target: Path) -> Path:
        rename(self, target)
        raise FileExistsError  # as NFS may say when it is asked a second time

    monkeypatch.setattr(Path, "rename", answer_gets_lost)
    assert take_attempt(RunDir(tmp_path), 1, this_owner())


def test_the_next_attempt_waits_for_the_end_of_the_last(tmp_path: Path) -> None:
    run = Runs(tmp_path).new("01A" + "0" * 23)
    assert next_attempt(run) == 1
    me = this_owner()
    assert take_attempt(run, 1, me)
    assert next_attempt(run) is None  # taken, and its owner lives, though it has written nothing yet
    assert next_attempt(run, lambda owner: owner == me) == 2

    found = manifest(run_id=run.path.name, state=State.FAILED)
    run.write_manifest(found)
    assert next_attempt(run) == 2
    assert next_attempt(run, since=found.attempts[-1].started - 1) is None  # somebody else's, and not worth another
    found.state = State.COMPLETED
    run.write_manifest(found)
    assert next_attempt(run) is None


def test_two_sweeps_of_one_name_are_one(tmp_path: Path) -> None:
    first, second = Sweeps(tmp_path).open("mine"), Sweeps(tmp_path).open("mine")
    assert first.identity == second.identity
    assert first.point(("seed=1",), spec()).run_id == second.point((), spec()).run_id
    assert Sweeps(tmp_path).open("other").point((), spec()).run_id != first.point((), spec()).run_id


def test_points_of_all_submissions_without_those_replaced(tmp_path: Path) -> None:
    sweep = Sweeps(tmp_path).open("mine")
    one, two, three = (sweep.point((f"seed={seed}",), spec(seed=seed)) for seed in (1, 2, 3))
    common: dict[str, Any] = {"submitted": 0.0, "argv": [], "launcher": "local", "settings": {}, "todo": []}
    sweep.submit(Submission(points=[one, two], replaced=[], **common))
    sweep.submit(Submission(points=[three], replaced=[one.spec_hash], **common))
    assert list(Sweep(sweep.path).points().values()) == [two, three]


def statuses(sweep: Sweep, **returns: float) -> list[PointStatus]:
    found = []
    for name, mean in returns.items():
        algo, seed = name.split("_")
        done = manifest(state=State.COMPLETED)
        done.summary.episode_return_mean = mean
        point = sweep.point((f"algo={algo}", f"seed={seed}", "env=x"), spec(seed=int(seed), labels={"algo": algo}))
        found.append(PointStatus(point, State.COMPLETED.value, done))
    return found


def test_cells_are_points_that_differ_in_their_seed(tmp_path: Path) -> None:
    found = cells(statuses(Sweeps(tmp_path).open("mine"), ppo_1=1.0, ppo_2=2.0, dqn_1=5.0, ppo_3=6.0))
    assert [(cell.name, cell.points, cell.mean) for cell in found] == [("algo=ppo", 3, 3.0), ("algo=dqn", 1, 5.0)]
    assert found[0].half_width == pytest.approx(6.572, abs=0.001)  # 4.3027 * 2.6458 / sqrt(3)
    assert found[1].half_width is None


def test_the_interval_of_many_values() -> None:
    values = [float(one % 10) for one in range(100)]
    assert interval(values) == pytest.approx(1.96 * 2.8868 / 10, rel=1e-3)


def test_what_differs_between_two_specs() -> None:
    old = spec()
    new = msgspec.structs.replace(
        old, seed=9, total_timesteps=7, resources=msgspec.structs.replace(old.resources, cpus=3)
    )
    assert list(differences(old, new)) == [
        f"seed: {old.seed}, now 9",
        f"total_timesteps: {old.total_timesteps}, now 7",
    ]


def test_a_plan_tells_new_known_repeated_and_changed_points(tmp_path: Path) -> None:
    have = statuses(Sweeps(tmp_path).open("mine"), ppo_1=1.0, ppo_2=2.0)
    same, changed = have[0].point, have[1].point
    wanted = [
        (same.overrides, same.spec),
        (("a=1",), same.spec),
        (changed.overrides[::-1], msgspec.structs.replace(changed.spec, total_timesteps=77)),
        (("seed=5",), spec(seed=5)),
    ]
    plan = make_plan(wanted, have)
    assert (len(plan.asked), plan.repeated, len(plan.known), plan.others) == (3, 1, 1, 1)
    assert [change.spec_hash for change in plan.changes] == [changed.spec_hash]
    assert [digest in plan.known for _, digest, _ in plan.missing] == [False, False]


def test_costs_are_those_of_earlier_runs_of_the_kind(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    for number, seconds in enumerate((12.0, 22.0, 32.0)):  # 2 s to start; 10, 20 and 30 s for 1,000 steps
        found = manifest(run_id=f"01{number}" + "0" * 23, state=State.COMPLETED)
        found.summary.env_steps, found.summary.sps = 1000, 1000 / (seconds - 2)
        found.attempts = [msgspec.structs.replace(found.attempts[0], started=100.0, ended=100.0 + seconds)]
        runs.new(found.run_id).path.mkdir(parents=True)
        runs.new(found.run_id).write_manifest(found)
    known = manifest().spec
    two_cores = msgspec.structs.replace(known.resources, cpus=2)
    work = [(known, 2000), (msgspec.structs.replace(known, resources=two_cores), 1000)]
    cost = estimate(work, runs)
    assert cost.core_seconds.expected == pytest.approx(2 + 40 + 2 * (2 + 20))
    assert (cost.core_seconds.low, cost.core_seconds.high) == pytest.approx((2 + 20 + 2 * 12, 2 + 60 + 2 * 32))
    assert cost.longest.expected == pytest.approx(42)
    other = msgspec.structs.replace(known, env=msgspec.structs.replace(known.env, id="Other-v0"))
    assert estimate([(other, 10)], runs).unknown_points == 1


def test_an_owner_is_told_from_a_later_process_with_its_pid() -> None:
    from mosaic_pipe.store.attempts import is_gone

    me = this_owner()
    assert not is_gone(me)
    assert is_gone(msgspec.structs.replace(me, pid_mark=me.pid_mark + "0"))
    assert not is_gone(msgspec.structs.replace(me, pid_started=me.pid_started - 100))  # somebody has set the clock
    assert not is_gone(Owner(host="elsewhere", pid=1, pid_started=0.0, pid_mark="boot 1"))
