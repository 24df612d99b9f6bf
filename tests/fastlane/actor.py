"""Environments of a worker's process, as the tests want them: steps one until it is killed. Run by any Python.

Arguments: the kind of environment; how many.
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import sys
import time
from typing import Any, ClassVar

import numpy as np
from mosaic_worker.errors import UserError
from mosaic_worker.fastlane.filming import film
from mosaic_worker.fastlane.single import Single


class Env:
    """Ten steps of reward 1 an episode; a picture of 4 by 6 pixels that counts."""

    render_mode = "rgb_array"
    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "name": "counting"}
    length = drawn = 0

    @property
    def unwrapped(self) -> Env:
        return self

    def reset(self) -> int:
        self.length = 0
        return 0

    def step(self, action: int) -> Any:
        self.length += 1
        return self.length, 1.0, self.length == 10, False, {}

    def render(self) -> Any:
        self.drawn += 1
        return np.full((4, 6, 3), self.drawn % 256, dtype=np.uint8)

    def close(self) -> None:
        pass


class Gray(Env):
    def render(self) -> Any:
        return np.full((4, 6), 0.5)


class Growing(Env):
    """Larger than the lane takes from the 50th picture on."""

    def render(self) -> Any:
        size = 8 if self.drawn < 50 else 200
        return np.resize(super().render(), (size, size * 2, 3))


class Raising(Env):
    def render(self) -> Any:
        raise ValueError("no brush")


class Refusing(Env):
    def render(self) -> Any:
        raise UserError("it has no pictures")


class Nothing(Env):
    def render(self) -> Any:
        return None


class Blind(Env):
    render_mode = ""
    metadata: ClassVar[dict[str, Any]] = {}


class Window(Env):
    render_mode = "human"


class Mujoco(Env):
    """Without a screen, drawing would end the process."""

    __module__ = "gymnasium.envs.mujoco.ant"

    def render(self) -> Any:
        os.abort()


class Slow(Env):
    """5 ms of drawing for each picture."""

    def render(self) -> Any:
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            pass
        return super().render()


class Odd(Env):
    """Its steps are of no known kind."""

    def step(self, action: int) -> Any:
        return None


def copies() -> list[Any]:
    env = film(Env(), Single)
    env.step(0)
    return [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]


def closed() -> list[Any]:
    env = film(Env(), Single)
    env.step(0)
    env.close()
    forgotten = film(Env(), Single)
    forgotten.step(0)
    del forgotten
    film(Env(), Single).reset()  # never steps
    return [film(Env(), Single)]


def main(kind: str, count: int) -> None:
    if kind in ("copies", "closed"):
        envs = globals()[kind]()
    else:
        sys.modules["mujoco"] = sys.modules["__main__"]
        envs = [film(globals()[kind](), Single) for _ in range(count)]
    for env in envs:
        assert type(env).__name__ == (kind if kind[0].isupper() else "Env")
        env.reset()
    if kind == "Env" and os.environ.get("FORK") and os.fork() == 0:
        time.sleep(0.5)  # the other one is first
    steps, begun = 0, time.monotonic()
    while True:
        for env in envs:
            result = env.step(0)
            if result and result[2]:
                env.reset()
        steps += 1
        if steps % 100 == 0:
            drawn = sum(getattr(env, "drawn", 0) for env in envs)
            print(steps, drawn, math.floor(steps / (time.monotonic() - begun)), flush=True)
        time.sleep(0.001)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
