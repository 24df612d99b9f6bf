from __future__ import annotations

from typing import Any

import msgspec

from mosaic_pipe.telemetry.events import Event
from mosaic_pipe.telemetry.fold import Fold
from mosaic_pipe.telemetry.reader import Skipped


def event(kind: str, seq: int, payload: dict[str, Any], attempt: int = 1) -> Event:
    envelope = {"event": kind, "run_id": "R", "attempt": attempt, "seq": seq, "time": 1.0, "payload": payload}
    found: Event = msgspec.convert(envelope, Event)
    return found


def episode(seq: int, episode_return: float, attempt: int = 1) -> Event:
    payload = {"env_steps": seq * 10, "episode_return": episode_return, "episode_length": 10, "wall_time": seq / 2}
    return event("episode", seq, payload, attempt)


def test_means_are_over_the_last_hundred_episodes() -> None:
    fold = Fold()
    fold.feed(episode(seq, float(seq)) for seq in range(1, 251))
    summary = fold.summary()
    assert summary.episodes == 250
    assert summary.episode_return_mean == sum(range(151, 251)) / 100
    assert summary.env_steps == 2500
    assert summary.wall_time == 125.0


def test_episodes_of_an_evaluation_are_none_of_training() -> None:
    fold = Fold()
    payload = {"env_steps": 30, "episode_return": 9.0, "episode_length": 10, "wall_time": 2.0}
    fold.feed([episode(1, 1.0), event("eval_episode", 2, payload), event("eval_episode", 3, payload)])
    summary = fold.summary()
    assert (summary.episodes, summary.episode_return_mean, summary.eval_episodes) == (1, 1.0, 2)
    assert (summary.env_steps, summary.wall_time) == (30, 2.0)
    fold.feed([event("eval_completed", 4, {"return_mean": 9})])
    assert fold.summary().mean_return == 1.0
    fold.feed([event("run_started", 1, {"pid": 2, "python": "3.11.7"}, attempt=2)])
    assert fold.summary().eval_episodes == 0  # played again
    assert fold.summary().mean_return == 9.0


def test_gaps_in_the_numbering_are_lost_events() -> None:
    fold = Fold()
    fold.feed([episode(1, 0.0), episode(2, 0.0), episode(5, 0.0), episode(1, 0.0, attempt=2), episode(3, 0.0, 2)])
    assert fold.telemetry(Skipped()).lost == 2 + 1


def test_the_last_word_of_a_run() -> None:
    totals = {"env_steps": 7, "wall_time": 1.0, "sps": 7.0}
    fold = Fold()
    fold.feed([event("run_started", 1, {"pid": 1, "python": "3.11.7"}), episode(2, 1.0)])
    assert fold.ending is None
    fold.feed([event("run_failed", 3, {**totals, "class": "user_error", "reason": "no"})])
    assert fold.ending is not None
    assert fold.summary().env_steps == 7
    fold.feed([event("run_started", 1, {"pid": 2, "python": "3.11.7"}, attempt=2)])
    assert fold.ending is None  # another attempt has begun


def test_an_artifact_of_two_attempts_counts_once() -> None:
    fold = Fold()
    for attempt in (1, 2):
        fold.feed([event("artifact", 1, {"kind": "tensorboard", "path": "tensorboard"}, attempt)])
    assert [artifact.path for artifact in fold.artifacts] == ["tensorboard"]


def test_everything_that_a_manifest_tells() -> None:
    checkpoint = {"path": "checkpoints/a", "env_steps": 5, "size": 3, "sha256": "00"}
    fold = Fold()
    fold.feed(
        [
            event("stage_started", 1, {"index": 0, "env_id": "E", "env_steps": 0}),
            event("stage_started", 2, {"index": 1, "env_id": "E", "env_steps": 4, "name": "second"}),
            event("checkpoint_saved", 3, checkpoint),
            event("checkpoint_loaded", 4, {"path": "x", "env_steps": 5}),
            event("artifact", 5, {"kind": "tensorboard", "path": "tensorboard"}),
            event("warning", 6, {"message": "careful"}),
            event("eval_completed", 7, {"mean": 3.0}),
            event("heartbeat", 8, {"env_steps": 9, "idle": 1.5}),
            event("metrics", 9, {"env_steps": 10, "wall_time": 1.0, "sps": "Infinity", "losses/x": "NaN"}),
        ]
    )
    assert [(stage.env_id, stage.name) for stage in fold.stages] == [("E", None), ("E", "second")]
    assert [msgspec.to_builtins(found) for found in fold.checkpoints] == [{**checkpoint, "updates": None}]
    assert fold.artifacts[0].kind == "tensorboard"
    assert fold.warnings == ["careful"]
    assert fold.idle == 1.5
    assert fold.summary().eval == {"mean": 3.0}
    assert fold.summary().env_steps == 10
    assert fold.telemetry(Skipped()).events["metrics"] == 1


def test_updates_stand_beside_steps_where_none_are_taken() -> None:
    saved = {"path": "checkpoints/a", "env_steps": 0, "updates": 20, "size": 3, "sha256": "00"}
    started = {"pid": 1, "python": "3.11.7"}
    fold = Fold()
    fold.feed(
        [event("heartbeat", 1, {"env_steps": 0, "updates": 12, "idle": 0.0}), event("checkpoint_saved", 2, saved)]
    )
    assert (fold.summary().env_steps, fold.summary().updates) == (0, 12)
    assert fold.checkpoints[0].updates == 20
    fold.feed([event("run_started", 1, started, attempt=2)])
    assert fold.summary().updates is None
    fold.feed([event("metrics", 2, {"env_steps": 0, "updates": 21, "wall_time": 1.0, "sps": 0.0}, attempt=2)])
    assert fold.summary().updates == 21


def test_what_an_attempt_does_again_counts_once() -> None:
    saved = {"path": "checkpoints/a", "env_steps": 20, "size": 3, "sha256": "00"}
    started = {"pid": 1, "python": "3.11.7"}
    fold = Fold()
    fold.feed([event("run_started", 1, started), episode(2, 1.0), event("checkpoint_saved", 3, saved), episode(4, 9.0)])
    assert fold.summary().episodes == 2
    fold.feed([event("run_started", 1, started, attempt=2)])
    assert (fold.summary().episodes, fold.summary().episode_return_mean) == (0, None)  # it may begin anew
    fold.feed([event("checkpoint_loaded", 2, {"path": "checkpoints/a", "env_steps": 20}, attempt=2)])
    assert (fold.summary().episodes, fold.summary().episode_return_mean, fold.summary().env_steps) == (1, 1.0, 20)
    fold.feed([episode(3, 3.0, attempt=2)])
    summary = fold.summary()
    assert (summary.episodes, summary.episode_return_mean) == (2, 2.0)
    assert summary.wall_time == 4 / 2 + 3 / 2  # of both attempts
    assert fold.telemetry(Skipped()).lost == 0


def test_a_stage_that_an_attempt_goes_on_in_is_told_once() -> None:
    saved = {"path": "checkpoints/a", "env_steps": 6, "size": 3, "sha256": "00"}
    stages = [{"index": index, "env_id": f"E{index}", "env_steps": 5 * index} for index in range(3)]
    fold = Fold()
    fold.feed([event("stage_started", 1, stages[0]), event("stage_started", 2, stages[1])])
    fold.feed([event("checkpoint_saved", 3, saved), event("stage_started", 4, stages[2])])
    fold.feed([event("run_started", 1, {"pid": 1, "python": "3.11.7"}, attempt=2)])
    fold.feed([event("checkpoint_loaded", 2, {"path": "x", "env_steps": 6}, attempt=2)])
    fold.feed([event("stage_started", 3, {**stages[1], "reason": "resumed"}, attempt=2)])
    assert [stage.index for stage in fold.stages] == [0, 1]
    fold.feed([event("stage_started", 4, stages[2], attempt=2)])
    assert [stage.index for stage in fold.stages] == [0, 1, 2]
