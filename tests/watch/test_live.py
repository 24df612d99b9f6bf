"""Looking at a run on this machine: real segments, real painters."""

from __future__ import annotations

import io
import subprocess
import time
from collections.abc import Callable

import pytest
from PIL import Image
from watched import Watched, soon

from mosaic_pipe.fastlane.reader import Reader
from mosaic_pipe.spec.schema import FastlaneSpec
from mosaic_pipe.store.attempts import Owner, this_owner
from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.store.states import State
from mosaic_pipe.watch.live import Live, Picture

Paint = Callable[..., "subprocess.Popen[str]"]


def picture(live: Live, after: int = 0, lane: int | None = None, side: int | None = None) -> Picture:
    """The next picture."""

    def look() -> Picture | None:
        live.want(lane)
        return live.picture(after, side, lane)

    return soon(look)


def size(jpeg: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(jpeg)).size


def test_pictures_of_all_lanes_follow_each_other(run: Watched, painter: Paint) -> None:
    painter("--lanes", "3", "--size", "84x84x3")
    live = Live(run.run)
    first = picture(live)
    second = picture(live, first.token)
    assert second.token > first.token
    assert second.jpeg != first.jpeg
    soon(lambda: len(picture(live).metrics) == 3)
    third = picture(live)
    assert [one["lane"] for one in third.metrics] == [0, 1, 2]
    metrics = third.metrics[1]
    assert (metrics["label"], metrics["last_reward"], metrics["step_rate_hz"]) == ("painter 1", 1.0, 1000.0)
    assert 0 <= metrics["age"] < 60
    assert size(third.jpeg) == (168, 168)
    assert live.note() == ""
    live.close()


def test_one_lane_alone_and_smaller(run: Watched, painter: Paint) -> None:
    painter("--lanes", "2", "--size", "200x100x1")
    live = Live(run.run)
    one = picture(live, lane=1, side=50)
    assert [metrics["lane"] for metrics in one.metrics] == [1]
    assert size(one.jpeg) == (25, 50)
    reader = Reader(run.path)
    assert reader.frame(0) is None  # nobody wanted that one
    reader.close()
    assert live.picture(lane=99) is None
    assert live.note(99) == "there is no lane 99"


def test_who_asks_for_the_same_gets_the_same(run: Watched, painter: Paint) -> None:
    painter()
    live = Live(run.run)
    picture(live)
    time.sleep(2)  # nobody looks any more
    last = live.picture()
    assert last is not None
    assert live.picture() is last
    assert live.picture(last.token) is None


def test_sizes_may_change(run: Watched, painter: Paint) -> None:
    painter("--size", "48x48x3", "96x64x3", "--fps", "200")
    live, token = Live(run.run), 0
    sizes: set[tuple[int, int]] = set()
    while len(sizes) < 2:
        new = picture(live, token)
        token = new.token
        sizes.add(size(new.jpeg))
    assert sizes == {(48, 48), (64, 96)}


def test_nothing_is_rendered_two_seconds_after_the_last_look(run: Watched, painter: Paint) -> None:
    painter()
    picture(Live(run.run))
    time.sleep(2)
    reader = Reader(run.path)
    last = reader.frame(0)
    time.sleep(0.3)
    assert last is not None
    assert reader.frame(0, last.number) is None
    reader.close()


def test_notes_say_why_there_is_nothing(run: Watched, painter: Paint) -> None:
    live = Live(run.run)
    assert live.note() == "no environment has taken a step yet"
    painter("--note", "CartPole cannot render")
    assert live.note() == "painter 0: CartPole cannot render"
    assert live.picture() is None
    painter()
    assert picture(live).metrics[0]["lane"] == 1  # the other one shows something
    assert "cannot render" in live.note()


def test_a_lane_goes_with_its_process(run: Watched, painter: Paint) -> None:
    first = painter()
    painter()
    live = Live(run.run)
    soon(lambda: len(picture(live).metrics) == 2)
    first.kill()
    assert first.wait() < 0
    assert [metrics["lane"] for metrics in picture(live).metrics] == [1]


@pytest.mark.parametrize("spec", [FastlaneSpec(mode="single", slot=1)])
def test_single_shows_its_slot(run: Watched, painter: Paint) -> None:
    painter("--lanes", "5")
    assert [metrics["lane"] for metrics in picture(Live(run.run)).metrics] == [1]


@pytest.mark.parametrize("spec", [FastlaneSpec(mode="off")])
def test_a_run_without_frames_says_so(run: Watched) -> None:
    live = Live(run.run)
    live.want()
    assert live.picture() is None
    assert "fastlane=off" in live.note()


def test_the_next_attempt_is_followed_and_the_end_is_told(run: Watched, painter: Paint) -> None:
    painting = painter()
    live = Live(run.run)
    token = picture(live).token
    painting.kill()
    run.remove_segment()
    run.say(State.PREEMPTED)
    soon(lambda: live.note() == "the run has ended: PREEMPTED" and live.has_ended)
    run.begin()
    painter("--size", "30x40x3")
    assert size(picture(live, token).jpeg) == (40, 30)
    assert not live.has_ended
    run.say(State.COMPLETED)
    soon(lambda: live.note() == "the run has ended: COMPLETED")
    assert live.picture() is None


def test_a_supervisor_that_died_is_told(run: Watched) -> None:
    me = this_owner()
    run.begin(Owner(host=me.host, pid=me.pid, pid_started=me.pid_started, pid_mark="another boot 1"))
    live = Live(run.run)
    assert live.note() == "the run has ended: its supervisor is gone"


def test_a_run_that_has_not_begun(run: Watched) -> None:
    live = Live(RunDir(run.outputs / "runs" / "01M80H9HWTD1GCSY4TVE523F2C"))
    live.want()
    assert live.picture() is None
    assert live.note() == "the run has not started yet"
