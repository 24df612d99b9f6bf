"""Watching environments that a library makes and steps all at once."""

import importlib
from typing import Any, List, Optional, Tuple

from mosaic_worker.errors import UserError
from mosaic_worker.fastlane.camera import Camera
from mosaic_worker.fastlane.drawing import draw, name_of
from mosaic_worker.fastlane.filming import Watcher
from mosaic_worker.fastlane.segment import attach

Step = Tuple[Any, Any, Any]
"""Rewards, whether episodes ended, and of which environments (None: of all, in order)."""


class Batch(Watcher):
    """A camera for each of the first environments, as many as there are lanes."""

    def __init__(self) -> None:
        self._np = importlib.import_module("numpy")
        segment = attach()
        lanes = segment.lanes if segment else 0
        self._cameras = [Camera(self._picture_of(index), self.name) for index in range(lanes)]
        self._totals: Any = None
        self._lengths: Any = None
        self._steps = 0
        self._drawn: Tuple[int, Any] = (-1, None)
        self.result: Any = None
        """What the last step returned."""

    def saw(self, env: Any, result: Any) -> None:
        """A step was taken."""
        step = self.outcome(env, result)
        if step is None:
            return
        self.result, self._steps = result, self._steps + 1
        rewards, over, ids = step
        if self._totals is None:
            count = int(env.num_envs)
            self._totals, self._lengths = self._np.zeros(count), self._np.zeros(count, dtype=int)
            del self._cameras[count:]
        if ids is None:
            self._totals += rewards
            self._lengths += 1
        else:
            self._totals[ids] += rewards
            self._lengths[ids] += 1
        self._look(env, rewards, ids)
        if self._np.any(over):
            self._end(over, ids)

    def reset(self) -> None:
        """All begin anew."""
        if self._totals is not None:
            for camera, length in zip(self._cameras, self._lengths):
                camera.reset(int(length))
            self._totals[:], self._lengths[:] = 0.0, 0

    def close(self) -> None:
        """Let others have the lanes."""
        for camera in self._cameras:
            camera.close()

    def outcome(self, env: Any, result: Any) -> Optional[Step]:
        """What a step did; None: it was none. Here Gymnasium's five arrays, or gym's four."""
        over = result[2] | result[3] if len(result) == 5 else result[2]
        return result[1], over, None

    def name(self, env: Any) -> str:
        """What the environments are called."""
        return name_of(env)

    def picture(self, env: Any, index: int) -> Any:
        """What environment number ``index`` looks like; here they are drawn all at once."""
        if self._drawn[0] != self._steps:
            self._drawn = self._steps, draw(env)
        pictures = self._drawn[1]
        if pictures is None or len(pictures) <= index:
            raise UserError("its render() gives no picture of each environment")
        return pictures[index]

    def _look(self, env: Any, rewards: Any, ids: Any) -> None:
        if ids is None:
            for index, camera in enumerate(self._cameras):
                if camera.wish[0]:
                    camera.look(env, rewards[index], int(self._lengths[index]))
            return
        for place, index in enumerate(ids):
            if index < len(self._cameras) and self._cameras[index].wish[0]:
                self._cameras[index].look(env, rewards[place], int(self._lengths[index]))

    def _end(self, over: Any, ids: Any) -> None:
        ended: List[Any] = list(self._np.flatnonzero(over) if ids is None else ids[self._np.asarray(over, dtype=bool)])
        for index in ended:
            if index < len(self._cameras):
                self._cameras[index].episode(float(self._totals[index]))
                self._cameras[index].reset(int(self._lengths[index]))
            self._totals[index], self._lengths[index] = 0.0, 0

    def _picture_of(self, index: int) -> Any:
        return lambda env: self.picture(env, index)


class Procgen(Batch):
    """Procgen's: what the agents see is the picture."""

    def picture(self, env: Any, index: int) -> Any:
        """The newest observation."""
        return self.result[0]["rgb"][index]

    def name(self, env: Any) -> str:
        """The game, where it says so."""
        return str(getattr(env, "env_name", "procgen"))


class EnvPool(Batch):
    """EnvPool's: the newest image of what an agent sees, else what the environment draws."""

    _DRAW = ("classic_control", "box2d")
    """Those that were seen to draw. Others end the process (MuJoCo) or were not tried."""

    def outcome(self, env: Any, result: Any) -> Optional[Step]:
        """Of the environments that it says; a reset is no step."""
        if not isinstance(result, tuple) or len(result) != 5 or isinstance(result[4], list):
            return None
        ids = result[4].get("env_id")
        self._ids = ids
        return result[1], result[2] | result[3], None if ids is None or len(ids) == env.num_envs else ids

    def name(self, env: Any) -> str:
        """The task."""
        return str(getattr(env, "_mosaic_task", None) or type(env).__name__)

    def picture(self, env: Any, index: int) -> Any:
        """The newest image, or a drawing where the environments all rest."""
        images, family = self.result[0], _family(env)
        if getattr(images, "ndim", 0) == 4 and images.dtype == self._np.uint8 and min(images.shape[2:]) >= 16:
            place = index if self._ids is None else int(self._np.flatnonzero(self._ids == index)[0])
            return _newest(images[place], _is_gray(env))
        if family not in self._DRAW or env.is_async:
            raise UserError(
                f"EnvPool's {family} environments show no pictures" + " in asynchronous mode" * env.is_async
            )
        mode = getattr(env, "_render_mode", None)
        env._render_mode = "rgb_array"
        try:
            return env.render(env_ids=[index])[0]
        finally:
            env._render_mode = mode


def _family(env: Any) -> str:
    """The part of EnvPool that ``env`` comes from, in front of anything that a class is derived from."""
    modules = [kind.__module__.split(".") for kind in type(env).__mro__]
    return next((parts[1] for parts in modules if parts[0] == "envpool" and parts[1:] and parts[1] != "python"), "?")


def _is_gray(env: Any) -> bool:
    return bool(env.config.get("gray_scale", False))


def _newest(stack: Any, gray: bool) -> Any:
    """The last of the images in ``stack``, whose first axis is images times colours."""
    return stack[-1] if gray or len(stack) % 3 else stack[-3:].transpose(1, 2, 0)
