"""Cameras for every environment that a program makes by a library's usual functions."""

import functools
import importlib
import os
from typing import Any, Callable, Dict

from mosaic_worker.fastlane.batch import Batch, EnvPool, Procgen
from mosaic_worker.fastlane.filming import Watcher, film
from mosaic_worker.fastlane.single import Parallel, Single, Turns
from mosaic_worker.protocol import ENV_FASTLANE


def registration(registration: Any) -> None:
    """``make`` and ``make_vec`` of Gymnasium, or ``make`` of gym."""
    if hasattr(registration, "make_vec"):
        _replace(registration, "make_vec", _film_vector, lambda args, kwargs: _drawing(registration, args, kwargs))
    _replace(registration, "make", _film_single, lambda args, kwargs: _drawing(registration, args, kwargs))


def _film_single(env: Any, *_: Any, **__: Any) -> Any:
    return film(env, Single)


def _film_vector(envs: Any, *_: Any, **__: Any) -> Any:
    """Environments of their own have theirs, those in other processes there."""
    if hasattr(envs, "envs"):
        for env in envs.envs:
            film(env, Single)
    elif not hasattr(envs, "env_fns") and not hasattr(envs, "processes"):
        film(envs, Batch)
    return envs


def pettingzoo(module: Any) -> None:
    """``env`` and ``parallel_env`` of one of PettingZoo's modules, or of MPE2's."""
    for name, watcher in (("env", Turns), ("parallel_env", Parallel)):
        make = getattr(module, name, None)
        if callable(make) and not isinstance(make, type) and hasattr(module, "raw_env"):
            _replace(module, name, _filmed_by(watcher), functools.partial(_drawing_zoo, module))


def envpool(registration: Any) -> None:
    """EnvPool's ``make`` and its like."""

    def film_pool(pool: Any, task: str = "", *_: Any, **__: Any) -> Any:
        film(pool, EnvPool, "recv")
        pool._mosaic_task = task
        return pool

    for name in ("make", "make_gym", "make_gymnasium"):
        if hasattr(registration, name):
            _replace(registration, name, film_pool, lambda args, kwargs: kwargs)


def procgen(module: Any) -> None:
    """Procgen's ``ProcgenEnv``."""

    def film_games(envs: Any, *_: Any, env_name: str = "", **__: Any) -> Any:
        return film(envs, Procgen)

    for name in ("ProcgenEnv",):
        if callable(getattr(module, name, None)):
            _replace(module, name, film_games, lambda args, kwargs: kwargs)


def _filmed_by(watcher: Callable[[], Watcher]) -> Callable[..., Any]:
    return lambda env, *_, **__: film(env, watcher)


def _replace(module: Any, name: str, act: Callable[..., Any], given: Callable[[Any, Any], Dict[str, Any]]) -> None:
    """Let ``module.name`` pass what it makes to ``act``, made with the arguments that ``given`` says.

    Only in processes of a run with live frames; the module may have been imported before that was known.
    """
    plain = getattr(module, name)
    if hasattr(plain, "_mosaic_plain"):
        return

    @functools.wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        if not os.environ.get(ENV_FASTLANE):
            return plain(*args, **kwargs)
        made = plain(*args, **given(args, kwargs))
        try:
            return act(made, *args, **kwargs)
        except Exception:  # nothing of video is the program's business
            return made

    make._mosaic_plain = plain  # type: ignore[attr-defined]
    setattr(module, name, make)


def _drawing(registration: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """``kwargs``, with ``render_mode="rgb_array"`` where the caller leaves it open and the environment has that."""
    try:
        named = args[0] if args else kwargs["id"]
        if isinstance(named, str):
            package, _, name = named.rpartition(":")
            if package:
                importlib.import_module(package)
            named = registration.registry[name]
        if "render_mode" not in kwargs and "render_mode" not in named.kwargs and _draws(registration, named):
            return {**kwargs, "render_mode": "rgb_array"}
    except Exception:  # noqa: S110 - making it will say what is wrong
        pass
    return kwargs


def _draws(registration: Any, spec: Any) -> bool:
    creator = spec.entry_point or spec.vector_entry_point
    creator = registration.load_env_creator(creator) if isinstance(creator, str) else creator
    return "rgb_array" in creator.metadata.get("render_modes", ())


def _drawing_zoo(module: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    modes = (getattr(module.raw_env, "metadata", None) or {}).get("render_modes", ())
    if "render_mode" not in kwargs and ("rgb_array" in modes or module.__name__.startswith("pettingzoo.atari.")):
        return {**kwargs, "render_mode": "rgb_array"}
    return kwargs
