"""Looking at a run on another machine: both sides of its directory, with a real segment behind one of them."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from watched import Watched, soon

from mosaic_pipe.store.states import State
from mosaic_pipe.supervise.snapshots import Snapshots
from mosaic_pipe.watch.live import Live, Picture

Paint = Callable[..., "subprocess.Popen[str]"]


class Supervising:
    """What a supervisor does with its snapshots, ten times a second."""

    def __init__(self, run: Watched) -> None:
        self.folder = run.run.fastlane_dir(1)
        self.snapshots = Snapshots(self.folder, run.path)
        self.longest = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            begun = time.thread_time()
            self.snapshots.look()
            self.longest = max(self.longest, time.thread_time() - begun)

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self.snapshots.close()


@pytest.fixture
def supervising(run: Watched) -> Iterator[Supervising]:
    made = Supervising(run)
    yield made
    made.end()


@pytest.fixture
def live(run: Watched) -> Live:
    """Looks at the run from elsewhere."""
    return Live(run.run, host="elsewhere")


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def picture(live: Live, after: int = 0, lane: int | None = None, side: int | None = None) -> Picture:
    def look() -> Picture | None:
        live.want(lane)
        return live.picture(after, side, lane)

    return soon(look)


def looking(live: Live, found: Callable[[], bool]) -> bool:
    """Whether ``found`` is so soon, while somebody looks."""

    def look() -> bool:
        live.want()
        return found()

    return soon(look)


def test_pictures_come_at_most_twice_a_second_while_somebody_looks(
    run: Watched, painter: Paint, supervising: Supervising, live: Live
) -> None:
    painter("--lanes", "2", "--size", "84x84x3")
    time.sleep(1)
    assert names(supervising.folder) == {"wanted"}  # nobody has looked yet
    assert supervising.longest < 0.01
    tokens, begun = {picture(live).token}, time.monotonic()
    while time.monotonic() < begun + 3:
        tokens.add(picture(live).token)
        time.sleep(0.02)
    assert 2 <= len(tokens) <= 7
    last = picture(live)
    assert Image.open(io.BytesIO(last.jpeg)).size == (84, 168)
    assert [(one["lane"], one["label"], one["step_rate_hz"]) for one in last.metrics] == [
        (0, "painter 0", 1000.0),
        (1, "painter 1", 1000.0),
    ]
    assert all(0 <= one["age"] < 60 for one in last.metrics)
    assert live.note() == ""
    soon(lambda: names(supervising.folder) == {"wanted"}, 10)  # nobody looks any more
    supervising.end()
    assert not supervising.folder.exists()


def test_one_lane_is_cut_out(painter: Paint, supervising: Supervising, live: Live) -> None:
    painter("--lanes", "3", "--size", "60x80x3")
    soon(lambda: len(picture(live).metrics) == 3)
    one = picture(live, lane=2, side=40)
    assert [metrics["lane"] for metrics in one.metrics] == [2]
    image = Image.open(io.BytesIO(one.jpeg))
    assert image.size == (40, 30)
    assert image.tobytes()[0] in range(110, 131) or image.tobytes()[0] > 240  # its ground is 120, the bar white
    assert live.picture(lane=77) is None


def test_the_age_of_an_old_picture_grows(painter: Paint, supervising: Supervising, live: Live) -> None:
    painter()
    picture(live)
    supervising.end()
    supervising.folder.mkdir()
    (supervising.folder / "wanted").touch()
    time.sleep(1.2)
    live.want()
    old = live.view()
    assert old is not None
    assert old.metrics[0]["age"] > 1


def test_the_reason_for_no_picture_arrives(painter: Paint, supervising: Supervising, live: Live) -> None:
    live.want()
    assert "waiting for a picture from" in live.note()
    looking(live, lambda: "no environment has taken a step yet" in live.note())
    painting = painter("--note", "it cannot render")
    looking(live, lambda: "painter 0: it cannot render" in live.note())
    painting.kill()
    painter()
    picture(live)
    soon(lambda: live.note() == "")


def test_a_supervisor_without_pillow_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, supervising: Supervising, live: Live
) -> None:
    monkeypatch.setitem(sys.modules, "mosaic_pipe.watch.local", None)
    looking(live, lambda: "pip install 'mosaic-pipe[view]'" in live.note())


def test_a_full_disk_costs_a_picture_and_no_more(painter: Paint, supervising: Supervising, live: Live) -> None:
    painter()
    full = supervising.folder / ".latest.jpg"
    full.symlink_to("/dev/full")
    looking(live, lambda: "No space left" in live.note())
    assert picture(live).metrics  # there is room again
    (supervising.folder / ".note.txt").symlink_to("/dev/full")
    full.symlink_to("/dev/full")
    assert picture(live, picture(live).token).metrics


def test_what_is_no_picture_is_passed_over(painter: Paint, supervising: Supervising, live: Live) -> None:
    live.want()
    (supervising.folder / "latest.jpg").write_bytes(b"\xff\xd8\xff garbage")
    assert live.picture() is None
    image = Image.new("RGB", (8, 8))
    image.save(supervising.folder / "latest.jpg", comment=b"not JSON")
    time.sleep(0.3)
    plain = soon(lambda: live.picture())
    assert plain.metrics == []
    painter()
    soon(lambda: picture(live).metrics)


def test_a_segment_that_goes_is_no_error(run: Watched, painter: Paint, supervising: Supervising, live: Live) -> None:
    run.path.unlink()
    looking(live, lambda: "no pictures" in live.note())
    assert not names(supervising.folder) & {"latest.jpg"}


def test_no_folder_no_pictures(run: Watched, live: Live) -> None:
    live.want()
    assert "shows no pictures, or is only starting" in live.note()
    assert not run.run.fastlane_dir(1).exists()


def test_the_end_is_told(run: Watched, painter: Paint, supervising: Supervising, live: Live) -> None:
    painter()
    picture(live)
    supervising.end()
    run.say(State.COMPLETED)
    soon(lambda: live.note() == "the run has ended: COMPLETED")


def test_a_machine_whose_shared_memory_is_not_ours_is_elsewhere_too(
    run: Watched, painter: Paint, supervising: Supervising
) -> None:
    painter()
    hidden = run.path.with_name("elsewhere-" + run.path.name)  # as in a job with a /dev/shm of its own
    live = Live(run.run)
    soon(lambda: picture(Live(run.run, host="elsewhere")))
    run.path.rename(hidden)
    try:
        assert picture(live).metrics
    finally:
        hidden.rename(run.path)
    first = picture(live).token
    looking(live, lambda: (live.picture(first + 20)) is not None)  # more than there can be of two a second
