"""Cameras in environments that others make and step.

An environment gets a camera by becoming an instance of a subclass of its class, which looks after each step. Nothing
is wrapped around it: what a script finds in it is what it would find without, and copies and pickles have cameras of
their own.
"""

import inspect
from functools import lru_cache
from typing import Any, Callable, Iterator, Tuple


class Watcher:
    """What sees the steps of one environment, or of one batch; each is made at the first step."""

    def saw(self, env: Any, result: Any) -> None:
        """``env`` took a step, which gave ``result``."""

    def reset(self) -> None:
        """A reset is about to come."""

    def close(self) -> None:
        """The environment is about to be closed."""


def film(env: Any, watcher: Callable[[], Watcher], step: str = "step") -> Any:
    """Have ``env`` watched, which has ``reset``, ``close`` and the method ``step``; returns it. Never fails.

    Where it, or what it is wrapped around, is watched already, nothing changes.
    """
    try:
        if not any(_is_filmed(one) or getattr(type(one), "has_camera", False) for one in _layers(env)):
            env.__class__ = _filmed(type(env), watcher, step)  # type: ignore[arg-type]
    except Exception:  # noqa: S110 - one that cannot have another class has no camera
        pass
    return env


def let_go(env: Any) -> None:
    """Take the cameras out of ``env`` and of what it is wrapped around: somebody else films it."""
    for one in _layers(env):
        if _is_filmed(one):
            watcher = one._mosaic_watcher
            one.__class__ = type(one)._mosaic_plain
            if watcher is not None:
                watcher.close()


def unfilmed(make: Callable[..., Any]) -> Callable[..., Any]:
    """What ``make`` was before it put cameras in."""
    plain: Callable[..., Any] = getattr(make, "_mosaic_plain", make)
    return plain


def _layers(env: Any) -> Iterator[Any]:
    """``env``, and what it is wrapped around."""
    while env is not None:
        yield env
        env = vars(env).get("env") if hasattr(env, "__dict__") else None


def _is_filmed(env: Any) -> bool:
    return "_mosaic_plain" in vars(type(env))


def _again(make: Callable[..., Any], arguments: Any, watcher: Callable[[], Watcher], step: str) -> Any:
    """A copy, without its state."""
    return film(make(*arguments), watcher, step)


@lru_cache(maxsize=None)
def _filmed(plain: Any, watcher: Callable[[], Watcher], step: str) -> Any:
    """The class ``plain`` with a watcher for each instance."""
    reset, close = plain.reset, plain.close

    def saw(self: Any, result: Any) -> Any:
        try:
            found = self._mosaic_watcher
            if found is None:
                found = self._mosaic_watcher = watcher()
            found.saw(self, result)
        except Exception:  # a step of no known kind: that is nobody's business but the script's
            let_go(self)
        return result

    class Filmed(plain):  # type: ignore[misc]
        __slots__ = ()
        _mosaic_plain = plain
        _mosaic_watcher: Any = None

        def reset(self, *args: Any, **kwargs: Any) -> Any:
            if self._mosaic_watcher is not None:
                self._mosaic_watcher.reset()
            return reset(self, *args, **kwargs)

        def close(self, *args: Any, **kwargs: Any) -> Any:
            if self._mosaic_watcher is not None:
                self._mosaic_watcher.close()
            return close(self, *args, **kwargs)

        def __reduce_ex__(self, protocol: Any) -> Tuple[Any, ...]:
            make, arguments, *rest = super().__reduce_ex__(protocol)
            arguments = tuple(plain if one is type(self) else one for one in arguments)
            if rest and isinstance(rest[0], dict):
                rest[0] = {name: value for name, value in rest[0].items() if name != "_mosaic_watcher"}
            return (_again, (make, arguments, watcher, step), *rest)

    setattr(Filmed, step, _stepping(getattr(plain, step), saw))
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(Filmed, name, getattr(plain, name))
    return Filmed


def _stepping(take: Callable[..., Any], saw: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """``take``, and a look at what it gives; the usual signatures as they are, since any other takes longer to call."""
    names = inspect.getfullargspec(take)[:3]
    if names == (["self", "action"], None, None):
        return lambda self, action: saw(self, take(self, action))
    if names == (["self", "actions"], None, None):
        return lambda self, actions: saw(self, take(self, actions))
    return lambda self, *args, **kwargs: saw(self, take(self, *args, **kwargs))
