"""``mosaic-pipe record``, and the files that it writes, read again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import av
import pytest
from PIL import Image, ImageSequence
from watched import Watched

from mosaic_pipe.store.states import State
from mosaic_pipe.watch.video import Gif, Mp4, Video

Paint = Callable[..., "subprocess.Popen[str]"]


def start(run: Watched, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mosaic_pipe.cli.main", "record", run.manifest.run_id, *arguments]
    return subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "MOSAIC_OUTPUT_DIR": str(run.outputs)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def record(run: Watched, *arguments: str) -> tuple[int, str]:
    """Exit code, and what it said."""
    with start(run, *arguments) as process:
        said, complained = process.communicate(timeout=120)
    assert "Traceback" not in complained
    return process.returncode, said + complained


def decoded(path: Path) -> tuple[list[Image.Image], float]:
    """The frames of a video, and how long it is, in seconds."""
    if path.suffix == ".gif":
        with Image.open(path) as file:
            durations = [frame.info["duration"] for frame in ImageSequence.Iterator(file)]
            return [frame.convert("RGB") for frame in ImageSequence.Iterator(file)], sum(durations) / 1000
    with av.open(str(path)) as container:
        images = [frame.to_image() for frame in container.decode(video=0)]  # type: ignore[no-untyped-call]
        assert container.duration is not None
        return images, container.duration / 1e6


@pytest.mark.parametrize("kind", ["mp4", "gif"])
def test_a_recording_is_as_long_and_as_large_as_it_should_be(run: Watched, painter: Paint, kind: str) -> None:
    painter("--lanes", "2", "--size", "99x200x3")
    target = run.outputs / f"out.{kind}"
    code, said = record(run, str(target), "--seconds", "1.5", "--fps", "20")
    assert code == 0
    images, seconds = decoded(target)
    assert {image.size for image in images} == {(200, 198)}
    assert seconds == pytest.approx(1.5, abs=0.11)
    assert 10 <= len(images) <= 30
    assert f"{len(images)} frames, 1.5 s" in said or kind == "gif"
    assert str(target) in said
    assert len({image.tobytes() for image in images}) > len(images) / 2
    assert sorted(path.name for path in run.outputs.iterdir()) == [target.name, "runs"]


def test_one_lane_of_it(run: Watched, painter: Paint) -> None:
    painter("--lanes", "2", "--size", "400x600x1")
    target = run.outputs / "out.mp4"
    assert record(run, str(target), "--seconds", "0.3", "--lane", "1")[0] == 0
    assert decoded(target)[0][0].size == (600, 400)


def test_sizes_may_change(run: Watched, painter: Paint) -> None:
    painter("--size", "400x400x3", "100x400x3", "--fps", "100")
    target = run.outputs / "out.mp4"
    assert record(run, str(target), "--seconds", "1")[0] == 0
    images, _ = decoded(target)
    assert len({image.size for image in images}) == 1
    width, height = images[0].size
    filled = [bright(image, width // 2, 3) and bright(image, 3, height // 2) for image in images]
    assert set(filled) == {True, False}  # those of the other size have black margins
    assert all(bright(image, width // 2, height // 2) for image in images)


def bright(image: Image.Image, x: int, y: int) -> bool:
    return max(image.crop((x, y, x + 1, y + 1)).tobytes()) > 60


def test_it_waits_for_a_frame_and_says_so(run: Watched, painter: Paint) -> None:
    target = run.outputs / "out.gif"
    with start(run, str(target), "--seconds", "0.2") as process:
        assert process.stderr is not None
        assert "no frame yet: no environment has taken a step yet" in process.stderr.readline()
        painter()
        assert process.wait(120) == 0
    assert target.exists()


def test_it_does_not_wait_for_ever(run: Watched, painter: Paint) -> None:
    painter("--note", "it cannot render")
    code, said = record(run, str(run.outputs / "out.mp4"), "--timeout", "0.5")
    assert code == 2
    assert "it cannot render" in said
    assert "--timeout" in said
    run.say(State.FAILED)
    code, said = record(run, str(run.outputs / "out.mp4"))
    assert code == 2
    assert "the run has ended: FAILED" in said
    assert not (run.outputs / "out.mp4").exists()


def test_what_somebody_else_saw_long_ago_is_not_recorded(run: Watched, painter: Paint) -> None:
    painting = painter()
    assert record(run, str(run.outputs / "a.gif"), "--seconds", "0.2")[0] == 0
    painting.send_signal(signal.SIGSTOP)
    code, said = record(run, str(run.outputs / "b.gif"), "--timeout", "1")
    painting.send_signal(signal.SIGCONT)
    assert code == 2
    assert "nothing came within 1 s" in said


@pytest.mark.parametrize("ending", ["Ctrl-C", "the run"])
def test_what_there_is_is_kept(run: Watched, painter: Paint, ending: str) -> None:
    painter()
    target = run.outputs / "out.mp4"
    with start(run, str(target), "--seconds", "600") as process:
        part = target.with_name(".out.mp4.part")
        while not part.exists():
            time.sleep(0.02)
        time.sleep(1)
        if ending == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        else:
            run.say(State.COMPLETED)
        assert process.wait(120) == 0
    images, seconds = decoded(target)
    assert images
    assert 0.3 < seconds < 60
    assert not part.exists()


def test_bad_targets(run: Watched) -> None:
    target = run.outputs / "out.mp4"
    target.write_text("precious")
    for name, complaint in {
        "out.mp4": "--force",
        "out.avi": ".mp4 or .gif",
        "out": ".mp4 or .gif",
        "nowhere/out.gif": "no such folder",
    }.items():
        code, said = record(run, str(run.outputs / name))
        assert code == 2
        assert complaint in said
    assert target.read_text() == "precious"


def test_the_forced_target_is_replaced_only_by_something(run: Watched, painter: Paint) -> None:
    target = run.outputs / "out.gif"
    target.write_text("precious")
    assert record(run, str(target), "--force", "--timeout", "0.3")[0] == 2
    assert target.read_text() == "precious"
    painter()
    assert record(run, str(target), "--force", "--seconds", "0.3")[0] == 0
    assert decoded(target)[0]


@pytest.mark.parametrize("make", [Mp4, Gif])
def test_small_pictures_are_enlarged_and_later_ones_fitted(tmp_path: Path, make: Callable[[Path, int], Video]) -> None:
    path = tmp_path / ("a.gif" if make is Gif else "a.mp4")
    video = make(path, 10)
    video.add(Image.new("L", (63, 21), 200), 0)
    video.add(Image.new("RGB", (21, 21), (200, 200, 200)), 3)
    video.close(9)
    (first, *_, last), seconds = decoded(path)
    assert first.size == last.size == ((315, 105) if make is Gif else (316, 106))
    assert seconds == pytest.approx(0.9 if make is Gif else 0.4, abs=0.11)
    assert bright(first, 10, 50)
    assert not bright(last, 10, 50)
    assert bright(last, 157, 50)
