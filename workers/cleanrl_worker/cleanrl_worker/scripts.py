"""CleanRL's scripts: where they are, and which parameters each one has, read from its source without running it.

Scripts of the release 1.2.0 add arguments to an ArgumentParser; later ones declare a dataclass ``Args`` for tyro.
"""

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_worker.errors import UserError

Parameters = dict[str, dict[str, Any]]
"""By flag without dashes: ``{"type": "int" | "float" | "str" | "bool" | "list", "default": …, "help": …}``."""


@dataclass(frozen=True)
class Script:
    """One script, and how its command line is written."""

    path: Path
    parameters: Parameters
    tyro: bool

    def arguments(self, flags: dict[str, Any]) -> Iterator[str]:
        """``flags`` as words of its command line; values as JSON has them.

        Raises:
            UserError: a null that this command line cannot say.
        """
        for flag, value in flags.items():
            if isinstance(value, list):
                yield from (f"--{flag}", *map(str, value))
            elif self.tyro and isinstance(value, bool):
                yield f"--{flag}" if value else f"--no-{flag}"
            elif value is not None or self.tyro:
                yield f"--{flag}={value}"  # in one word, so that a negative number is not taken for a flag
            elif self.parameters[flag]["default"] is not None:
                raise UserError(f"{flag}: this script has no way to say null, its default is another value")


def find_script(algo: str) -> Script:
    """The script of the algorithm ``algo``.

    Raises:
        UserError: the installed CleanRL has no such script.
    """
    path = _folder() / (algo + ".py")
    if not path.is_file():
        raise UserError(f"algo.name: the CleanRL in {_folder()} has no script {algo!r}")
    return read_script(path)


def read_script(path: Path) -> Script:
    """The script at ``path``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tyro = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Args"]
    parameters = dict(_fields(tyro[0]) if tyro else _arguments(tree))
    return Script(path, parameters, bool(tyro))


def scripts() -> list[str]:
    """The names of all installed scripts."""
    return sorted(path.stem for path in _folder().glob("*.py") if path.stem != "__init__")


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
            several = _value(given.get("nargs")) in ("+", "*")
            yield flag, _facts("list" if several else _type_name(given.get("type")), given, given.get("help"))


def _fields(args: ast.ClassDef) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields of tyro's dataclass; the text below a field is its help."""
    for field, below in zip(args.body, [*args.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        help_text = below.value if isinstance(below, ast.Expr) else None
        type_name = ast.unparse(field.annotation).removeprefix("Optional[").rstrip("]")
        type_name = "list" if type_name.lower().startswith(("list", "tuple")) else type_name
        yield field.target.id.replace("_", "-"), _facts(type_name, {"default": field.value}, help_text)


def _facts(type_name: str, given: dict[Any, Any], help_text: ast.expr | None) -> dict[str, Any]:
    return {"type": type_name, "default": _value(given.get("default")), "help": _value(help_text)}


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
