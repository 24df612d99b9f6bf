"""Acting on a library at the moment that a program imports it, and not before."""

from __future__ import annotations

import importlib.util
import sys

TYPE_CHECKING = False  # typing, and importlib.abc, cost every start of a Python more than all the rest here
if TYPE_CHECKING:
    from typing import Any, Callable

    Act = Callable[[Any], None]


def when_imported(name: str, act: Act) -> None:
    """Call ``act`` with the module ``name`` right after its first import; at once, where that has happened.

    A ``name`` that ends in a dot: with every module below it, as they are imported.
    """
    if name in sys.modules:
        act(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder:
    def __init__(self, name: str, act: Act) -> None:
        self._name, self._act = name, act
        self._many = name.endswith(".")
        self._searching: set[str] = set()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        found = fullname.startswith(self._name) if self._many else fullname == self._name
        if not found or fullname in self._searching:
            return None
        self._searching.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.discard(fullname)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        execute = spec.loader.exec_module

        def execute_and_act(module: Any) -> None:
            execute(module)
            if not self._many and self in sys.meta_path:
                sys.meta_path.remove(self)
            self._act(module)

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec
