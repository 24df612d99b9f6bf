"""Python imports this when it starts, because ``PYTHONPATH`` names its folder: live frames of what it will train.

The interpreter's own ``sitecustomize`` runs as well. This may be any Python, without the kit.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would cost every start


def _execute(name: str, spec: ModuleSpec | None) -> None:
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


def _film() -> None:
    """Have the kit watch imports: the interpreter's own, else the one that this file is part of.

    The folder of that one, which may hold other packages, comes on no path.
    """
    if find_spec("mosaic_worker") is None:
        package = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
        init = os.path.join(package, "__init__.py")  # noqa: PTH118
        _execute("mosaic_worker", spec_from_file_location("mosaic_worker", init))
    from mosaic_worker.fastlane import hooks

    hooks.install()


try:
    _film()
except Exception as error:  # whatever it is, the program runs without live frames
    sys.stderr.write(f"no live frames: {error!r}\n")
_others = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]  # noqa: PTH100
_execute("sitecustomize", PathFinder.find_spec("sitecustomize", _others))
