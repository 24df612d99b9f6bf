"""Asking an environment for its picture, or why it has none. Gymnasium, gym and PettingZoo alike."""

import os
import sys
from typing import Any

from mosaic_worker.errors import UserError


def draw(env: Any) -> Any:
    """What ``env`` draws.

    Raises:
        UserError: it draws nothing, or not without a screen, or into something else.
    """
    mode = getattr(env, "render_mode", None)
    if mode is None and draws_old_way(env):
        _refuse_mujoco(env)
        return env.render(mode="rgb_array")
    if mode is None:
        modes = getattr(env, "metadata", None) or {}
        if "rgb_array" in modes.get("render_modes", ()):
            raise UserError('it was made without render_mode="rgb_array"')
        raise UserError("this environment draws no pictures")
    if mode != "rgb_array":
        raise UserError(f"it was made with render_mode={mode!r}: there is no second picture beside that")
    _refuse_mujoco(env)
    return env.render()


def draws_old_way(env: Any) -> bool:
    """Whether it has the API of gym before 0.26, which names the mode at each call."""
    return "rgb_array" in (getattr(env, "metadata", None) or {}).get("render.modes", ())


def name_of(env: Any) -> str:
    """The id that ``env`` is registered by, else what it calls itself."""
    spec = getattr(env.unwrapped, "spec", None)
    found = getattr(spec, "id", None) or (getattr(env, "metadata", None) or {}).get("name")
    return str(found or type(env.unwrapped).__name__)


class FirstName:
    """:func:`name_of`, as an environment was called at first: a library may register it again, by a name of its own."""

    def __init__(self, env: Any) -> None:
        self._known, self._name = env.unwrapped, name_of(env)

    def __call__(self, env: Any) -> str:
        """What ``env`` is called, which may have become another one inside the same wrappers."""
        if env.unwrapped is not self._known:
            self._known, self._name = env.unwrapped, name_of(env)
        return self._name


def _refuse_mujoco(env: Any) -> None:
    """Without a screen, MuJoCo's default way of drawing ends the process."""
    if os.environ.get("DISPLAY") or os.environ.get("MUJOCO_GL") or not {"mujoco", "mujoco_py"} & sys.modules.keys():
        return
    for kind in type(env.unwrapped).__mro__:
        if "mujoco" in kind.__module__ or "dm_control" in kind.__module__ or "robotics" in kind.__module__:
            raise UserError("MuJoCo draws without a screen only with MUJOCO_GL=egl or osmesa set before the run")
