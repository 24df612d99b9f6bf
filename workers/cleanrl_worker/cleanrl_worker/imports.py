"""Acting on a library at the moment that a script imports it, and not before."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from typing import Any


def when_imported(name: str, act: Callable[[Any], None]) -> None:
    """Call ``act`` with the module ``name`` right after its first import; at once, where that has happened."""
    if name in sys.modules:
        act(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, act: Callable[[Any], None]) -> None:
        self._name, self._act = name, act
        self._searching = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_act(module: Any) -> None:
            execute(module)
            sys.meta_path.remove(self)
            self._act(module)

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec
