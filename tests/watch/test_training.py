"""A run of CleanRL, unmodified, watched from here and from elsewhere at the same time."""

from __future__ import annotations

from pathlib import Path

import av
from machine import Machine
from watched import soon

from mosaic_pipe.store.run_dir import RunDir
from mosaic_pipe.watch.live import Live


def test_training_is_watched_here_and_elsewhere(machine: Machine) -> None:
    training = machine.start("worker=cleanrl", "total_timesteps=100000000", "tracking=none")
    run_id = machine.wait_for(machine.run_ids, 600)[0]
    elsewhere = Live(RunDir(machine.run_dir(run_id)), host="elsewhere")
    recording = machine.start("record", run_id, "out.mp4", "--seconds", "3", "--timeout", "300")

    def tokens() -> set[int]:
        elsewhere.want()
        seen = elsewhere.view()
        return {one["frame"] for one in seen.metrics} if seen else set()

    first = soon(tokens, 300)
    soon(lambda: tokens() - first, 60)
    assert recording.wait(300) == 0
    with av.open(str(machine.folder / "out.mp4")) as container:
        images = [frame.to_image() for frame in container.decode(video=0)]  # type: ignore[no-untyped-call]
    assert len({image.tobytes() for image in images}) > 5
    machine.run("runs", "cancel", run_id)
    assert training.wait(60) == 130
    soon(lambda: elsewhere.note() == "the run has ended: CANCELLED")
    assert not [path for path in Path("/dev/shm").iterdir() if run_id in path.name]
