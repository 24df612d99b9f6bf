"""Runs inside the worker's virtualenv, in one process, since XuanCe takes seconds to import. Prints JSON.

Each spec is trained in one go; stopped half way and resumed; by hand; and its environments are stepped by hand.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from by_hand import by_hand
from mosaic_worker.emitter import Emitter
from mosaic_worker.errors import Stopped, UserError
from mosaic_worker.session import Session
from mosaic_worker.spec import load_spec
from replay import Witness, replayed
from xuance_worker import environments, team
from xuance_worker.cli import XuanCeWorker
from xuance_worker.config import XuanCeConfig

os.environ["TQDM_DISABLE"] = "1"
WITNESS = Witness()


class StoppedHalfWay(Session):
    """A session that is asked to stop, as the supervisor does it, when ``stop_at`` steps were taken."""

    stop_at = 0

    def tick(self, steps: int = 1) -> None:
        super().tick(steps)
        if self.env_steps == self.stop_at:
            os.kill(os.getpid(), signal.SIGTERM)


def train(spec: Any, folder: Path, stop_at: int = 0) -> tuple[Path, Any]:
    """Train as the kit's command line does; returns the last checkpoint, and what trained.

    Events go to ``folder/events.jsonl``.
    """
    folder.mkdir(parents=True)
    events = os.open(folder / "events.jsonl", os.O_WRONLY | os.O_CREAT)
    interval = spec.checkpoint.interval
    session = StoppedHalfWay(Emitter(events, spec.run_id, 1), folder, checkpoint_interval=interval)
    session.stop_at = stop_at
    session.listen()
    worker = XuanCeWorker()
    runtime: Any = worker.runtime(worker.config(spec), session)
    try:
        runtime.run()
    except Stopped:
        assert stop_at
    session.checkpoints.save(runtime.save_checkpoint)
    runtime.close()
    (checkpoint,) = (folder / "checkpoints").iterdir()
    return checkpoint, runtime


def everything(file: Path, asked: list[str]) -> dict[str, Any]:
    """What is ``asked`` about the spec in ``file``."""
    spec, place = load_spec(file), file.with_suffix("")
    found: dict[str, Any] = {}
    whole, runtime = train(deepcopy(spec), place / "whole")
    if getattr(spec.env, "agents", 1) > 1:
        envs = [env.unwrapped for env in runtime._envs]
        found["replayed"] = replayed(spec, envs, WITNESS)
    if "by_hand" in asked:
        trained = torch.load(whole, weights_only=True)["agent"]["policy"]
        other = by_hand(XuanCeConfig.from_spec(spec), place).policy.state_dict()
        assert trained.keys() == other.keys()
        found["by_hand"] = [len(other), [name for name in other if not torch.equal(trained[name], other[name])]]
    if "resumed" in asked:
        stopped, _ = train(deepcopy(spec), place / "stopped", spec.total_timesteps // 2)
        spec.mode, spec.resume.checkpoint = "resume_training", str(stopped)
        found["resumed"] = [str(whole), str(stopped), str(train(spec, place / "resumed")[0])]
    return found


class Evil:
    """Unpickled, it runs a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch executed",)


def refusals(file: Path) -> dict[str, str]:
    """What the worker says to files that are no checkpoints of the spec in ``file``."""
    spec, place = load_spec(file), file.parent
    head = {"format": 1, "library": "xuance", "algo": spec.algo.name}
    torch.save({**head, "evil": Evil()}, place / "zipped.pt")
    (place / "plain.pt").write_bytes(pickle.dumps(Evil()))
    torch.save({"weight": torch.zeros(3)}, place / "foreign.pt")
    torch.save({**head, "algo": "none"}, place / "other.pt")
    found = {}
    for name in ("zipped", "plain", "foreign", "other"):
        spec.resume.checkpoint = str(place / f"{name}.pt")
        try:
            XuanCeWorker().config(spec).describe()
        except UserError as error:
            found[name] = str(error)
    return found


def actions_after_a_step(file: Path) -> list[int]:
    """The arrays of actions 3, after an environment was given them."""
    face = team.Team(environments.make(load_spec(file)))
    face.reset(seed=1)
    actions = {agent: np.array(3) for agent in face.agents}
    face.step(actions)
    return [int(action) for action in actions.values()]


def unknown_environments(file: Path) -> dict[str, str]:
    """What is said to ids that are almost those of particle environments."""
    spec, said = load_spec(file), {}
    for env_id in ("simple_spread", "mpe2/simple_tag_v3", "simple_push_v2", "soccer"):
        spec.env.id = env_id
        try:
            environments.make(spec)
        except UserError as error:
            said[env_id] = str(error)
    return said


def main(asked: dict[str, list[str]], folder: Path) -> None:
    files = {name: folder / f"{name}.json" for name in asked}
    found = {name: everything(file, asked[name]) for name, file in files.items()}
    found["refused"], found["unknown"] = refusals(files["ppo"]), unknown_environments(files["qmix"])
    print(json.dumps({**found, "actions": actions_after_a_step(files["qmix"])}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
