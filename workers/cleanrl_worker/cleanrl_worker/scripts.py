"""CleanRL's scripts: where they are, and which parameters each one has, read from its source without running it."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError

Parameters = dict[str, dict[str, Any]]
"""By flag without dashes: ``{"type": "int" | "float" | "str" | "bool", "default": …, "help": …}``."""


def script_path(algo: str) -> Path:
    """The file of the script ``algo``.

    Raises:
        UserError: the installed CleanRL has no such script.
    """
    path = _folder() / (algo + ".py")
    if not path.is_file():
        raise UserError(f"algo.name: the installed CleanRL has no script {algo!r}")
    return path


def scripts() -> list[str]:
    """The names of all installed scripts."""
    return sorted(path.stem for path in _folder().glob("*.py"))


def parameters(path: Path) -> Parameters:
    """The parameters that the script at ``path`` adds to its ArgumentParser."""
    return dict(_arguments(ast.parse(path.read_text(encoding="utf-8"))))


def _folder() -> Path:
    spec = importlib.util.find_spec("cleanrl")  # a namespace package: it has no __init__.py
    if spec is None or not spec.submodule_search_locations:
        raise UserError("cleanrl is not installed in this environment")
    return Path(next(iter(spec.submodule_search_locations)))


def _arguments(tree: ast.AST) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            flag = ast.literal_eval(node.args[0]).lstrip("-")
            yield (
                flag,
                {
                    "type": _type_name(given.get("type")),
                    "default": _value(given.get("default")),
                    "help": _value(given.get("help")),
                },
            )


def _type_name(node: Any) -> str:
    if isinstance(node, ast.Lambda):  # lambda x: bool(strtobool(x))
        return "bool"
    return node.id if isinstance(node, ast.Name) else "str"


def _value(node: Any) -> Any:
    """The literal that ``node`` is; ``int(1e6)`` too; None for anything computed."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int":
        return int(_value(node.args[0]))
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None
