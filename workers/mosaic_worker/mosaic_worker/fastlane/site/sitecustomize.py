"""Python imports this when it starts, because ``PYTHONPATH`` names its folder: live frames of what it will train.

The interpreter's own ``sitecustomize`` runs as well. This may be any Python, an old one too, without the kit.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - what is imported here costs every start


def _own():
    """The interpreter's own module of this name."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    path = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


def _kit():
    """The kit that this file is part of, wherever it is: its folder is not on the path, other packages lie there."""
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
    if "mosaic_worker" not in sys.modules:
        spec = spec_from_file_location("mosaic_worker", os.path.join(package, "__init__.py"))  # noqa: PTH118
        module = sys.modules["mosaic_worker"] = module_from_spec(spec)
        spec.loader.exec_module(module)
    from mosaic_worker.fastlane import hooks

    hooks.install()


if sys.version_info >= (3, 8):
    try:
        _kit()
    except Exception as error:  # whatever it is, the program runs without live frames
        sys.stderr.write("no live frames: %r\n" % (error,))
_own()
