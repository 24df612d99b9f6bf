"""What is filmed, when, and what nobody's training ever notices: environments here, an audience there."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable

import pytest
from audience import Stage
from mosaic_worker.fastlane.notices import Notices
from mosaic_worker.protocol import ENV_SCRATCH


def counted(process: subprocess.Popen[str]) -> list[int]:
    """Steps taken, pictures drawn, steps a second, as of now."""
    assert process.stdout
    return [int(number) for number in process.stdout.readline().split()]


def test_nothing_is_drawn_until_somebody_watches_and_soon_after_nobody_does(stage: Stage) -> None:
    actor = stage.act("Env")
    stage.audience.wait_until(stage.audience.claimed)
    for _ in range(3):
        steps, drawn, _ = counted(actor)
    assert drawn == 0
    assert steps >= 300
    stage.audience.watch_until(lambda: len(stage.audience.seen[0]) >= 20)
    first, last = stage.audience.seen[0][0], stage.audience.seen[0][-1]
    assert (first.label, first.height, first.width, first.channels) == ("counting", 4, 6, 3)
    assert first.pixels == bytes([1]) * 72
    assert last.number >= 20
    time.sleep(2.0)
    stage.audience.look()
    shown = stage.audience.seen[0][-1].number
    time.sleep(0.5)
    stage.audience.look()
    assert stage.audience.seen[0][-1].number == shown


def test_what_is_told_is_right_from_the_first_frame_on(stage: Stage) -> None:
    actor = stage.act("Env")
    stage.audience.wait_until(stage.audience.claimed)
    time.sleep(2.0)  # steps that nobody sees count
    stage.audience.watch_until(lambda: stage.audience.seen[0])
    rate = counted(actor)[2]
    frame = stage.audience.seen[0][0]
    assert frame.last_reward == 1.0
    assert frame.rolling_return == pytest.approx(10.0)
    assert rate * 0.5 < frame.step_rate_hz < 1100


def test_the_rolling_return_is_unknown_before_an_episode_has_ended(stage: Stage) -> None:
    stage.audience.reader.want(stage.audience.reader.lanes, seconds=60.0)
    stage.act("Env")
    stage.audience.watch_until(lambda: stage.audience.seen[0])
    if stage.audience.seen[0][0].number == 1:
        assert math.isnan(stage.audience.seen[0][0].rolling_return)


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("Refusing", "it has no pictures"),
        ("Nothing", "its render() gives no picture"),
        ("Window", "it was made with render_mode='human': there is no second picture beside that"),
        ("Blind", "it was made with render_mode='': there is no second picture beside that"),
        ("Mujoco", "MuJoCo draws without a screen only with MUJOCO_GL=egl or osmesa set before the run"),
        ("Raising", "drawing failed: ValueError: no brush"),
    ],
)
def test_without_a_picture_it_is_told_why_and_training_goes_on(
    stage: Stage, kind: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = stage.act(kind, DISPLAY="", MUJOCO_GL="")
    stage.audience.watch_until(lambda: stage.audience.status().note)
    assert stage.audience.status().note == note
    for _ in range(4):
        steps = counted(actor)[0]
    assert steps >= 400
    monkeypatch.setenv(ENV_SCRATCH, str(stage.scratch))
    expected = ["no live frames of counting: drawing failed: ValueError: no brush"] if kind == "Raising" else []
    notices = Notices()
    assert notices.new() == expected
    assert notices.new() == []


def test_steps_of_no_known_kind_are_left_alone(stage: Stage) -> None:
    assert counted(stage.act("Odd"))[0] == 100


def test_gray_numbers_are_a_picture(stage: Stage) -> None:
    stage.act("Gray")
    stage.audience.watch_until(lambda: stage.audience.seen[0])
    frame = stage.audience.seen[0][0]
    assert (frame.channels, frame.pixels) == (1, bytes([127]) * 24)


def test_a_size_may_change_and_what_is_too_large_is_made_smaller(stage: Stage) -> None:
    stage.act("Growing")
    sizes = {(8, 16), (29, 58)}
    stage.audience.watch_until(lambda: {(f.height, f.width) for f in stage.audience.seen[0]} == sizes)
    assert len({frame.generation for frame in stage.audience.seen[0]}) == 2


def test_copies_and_pickles_have_lanes_of_their_own(stage: Stage) -> None:
    stage.act("copies")
    stage.audience.watch_until(lambda: all(stage.audience.seen[lane] for lane in range(3)))
    assert stage.audience.claimed() == [0, 1, 2]


def test_a_lane_is_free_again_when_its_environment_is_closed_or_forgotten(stage: Stage) -> None:
    stage.act("closed")
    stage.audience.watch_until(lambda: stage.audience.seen[0])
    assert stage.audience.claimed() == [0]


def test_a_fork_claims_its_own(stage: Stage) -> None:
    stage.act("Env", FORK="1")
    stage.audience.watch_until(lambda: len(stage.audience.seen[0]) > 5 and len(stage.audience.seen[1]) > 5)
    assert stage.audience.claimed() == [0, 1]


def test_environments_beyond_the_limit_are_not_filmed(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(grid_limit=2)
    actor = stage.act("Env", 4)
    stage.audience.watch_until(lambda: all(len(frames) > 5 for frames in stage.audience.seen.values()))
    assert list(stage.audience.seen) == [0, 1]
    assert counted(actor)[0]


def test_the_one_environment_of_single_mode(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(mode="single", slot=2)
    stage.act("Env", 4)
    stage.audience.watch_until(lambda: len(stage.audience.seen[2]) > 5)
    assert list(stage.audience.seen) == [2]


def test_pictures_are_no_more_often_than_the_interval(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(interval_ms=100.0)
    stage.act("Env")
    stage.audience.watch_until(lambda: stage.audience.seen[0])
    begun, first = time.monotonic(), stage.audience.seen[0][-1].number
    stage.audience.watch_until(lambda: time.monotonic() > begun + 1.5)
    assert stage.audience.seen[0][-1].number - first <= 16


def test_the_variables_of_old_hold_too(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(interval_ms=100000.0)
    stage.act("Growing", CLEANRL_FASTLANE_INTERVAL_MS="5", CLEANRL_FASTLANE_MAX_DIM="20")
    stage.audience.watch_until(lambda: stage.audience.seen[0] and stage.audience.seen[0][-1].width > 16)
    assert max(frame.width for frame in stage.audience.seen[0]) <= 20


def test_drawing_takes_but_a_share_of_the_time_however_many_are_watched(stage: Stage) -> None:
    actor = stage.act("Slow", 4)
    stage.audience.watch_until(lambda: all(len(frames) > 3 for frames in stage.audience.seen.values() if frames))
    begun, (_, before, _) = time.monotonic(), counted(actor)
    stage.audience.watch_until(lambda: time.monotonic() > begun + 2.0)
    while (now := counted(actor)) and actor.stdout and time.monotonic() < begun + 2.5:
        pass
    assert (now[1] - before) * 0.005 < 0.1 * (time.monotonic() - begun) + 0.02
    assert now[1] > before
