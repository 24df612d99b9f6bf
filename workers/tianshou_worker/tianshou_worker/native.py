"""Arguments of Tianshou's constructors: which there are, and handing them over."""

import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Any

from mosaic_worker.spec import Spec, check_native

from tianshou_worker import get_worker_metadata

_PLAIN = (bool, int, float, str)
_OURS = {
    "hidden_sizes": {"type": "list", "help": "units of each hidden layer"},
    "update_step_num_gradient_steps_per_sample": {"type": "float", "help": "updates for each environment step"},
}


class Settings:
    """Arguments by name; each constructor takes those that it has."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def make(self, kind: Callable[..., Any], **given: Any) -> Any:
        """``kind(...)`` with ``given`` and what of the settings it takes beside that."""
        names = inspect.signature(kind).parameters
        return kind(
            **{name: value for name, value in self.values.items() if name in names and name not in given}, **given
        )

    def argument(self, kind: Callable[..., Any], name: str) -> Any:
        """What ``kind`` would be given as ``name``, or takes by default."""
        return self.values.get(name, inspect.signature(kind).parameters[name].default)

    def hidden_sizes(self, default: tuple[int, ...]) -> list[int]:
        """Units of each hidden layer."""
        return list(self.values.get("hidden_sizes", default))


def check(spec: Spec) -> None:
    """Refuse what no constructor of the algorithm takes.

    Raises:
        UserError: names the parameter.
    """
    check_native(spec, "Tianshou", _parameters(spec.algo.name))


def native_parameters() -> dict[str, dict[str, Any]]:
    """The parameters of every algorithm; ``set_by`` marks those that a canonical hyperparameter sets."""
    return {algo: _parameters(algo) for algo in get_worker_metadata()["algorithms"]}


def _parameters(algo: str) -> dict[str, dict[str, Any]]:
    from tianshou_worker.algorithms import RECIPES

    recipe = RECIPES[algo]
    found: dict[str, dict[str, Any]] = {}
    for kind in recipe.parts:
        texts = _texts(kind)
        for name, parameter in inspect.signature(kind).parameters.items():
            if name not in ("action_shape", *recipe.fixed) and (kind_name := _plain_type(parameter)):
                found[name] = {"type": kind_name, "default": _default(parameter), "help": texts.get(name, "")}
    for name, value in recipe.buffer_settings.items():
        found[name] = {"type": "float", "default": value, "help": "of the replay buffer"}
    for name, value in recipe.own.items():
        found[name] = {"type": "float", "default": value, "help": ""}
    hidden = {**_OURS["hidden_sizes"], "default": list(recipe.hidden_sizes)}
    found["hidden_sizes"] = hidden
    if not (recipe.on_policy or recipe.offline):
        found["update_step_num_gradient_steps_per_sample"] = {
            **_OURS["update_step_num_gradient_steps_per_sample"],
            "default": None,
        }
    names = get_worker_metadata()["algorithms"][algo]["hyperparameters"]
    for canonical, name in names.items():
        if name in found:
            found[name]["set_by"] = f"algo.{canonical}"
    return dict(sorted(found.items()))


def _plain_type(parameter: inspect.Parameter) -> str | None:
    """The type's name where JSON has it; None for networks, factories and spaces, which the worker makes."""
    hint = parameter.annotation
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    plain = [option for option in options if option in _PLAIN]
    if typing.get_origin(hint) is typing.Literal:
        plain = [str]
    return plain[0].__name__ if plain else None


def _default(parameter: inspect.Parameter) -> Any:
    return None if parameter.default is inspect.Parameter.empty else parameter.default


def _texts(kind: type) -> dict[str, str]:
    """The first sentence about each parameter in the constructor's docstring."""
    sections = re.findall(r":param (\w+):(.*?)(?=:param |\Z)", inspect.getdoc(kind.__init__) or "", re.DOTALL)  # type: ignore[misc]
    return {name: " ".join(text.split()).split(". ")[0].rstrip(".") for name, text in sections}
