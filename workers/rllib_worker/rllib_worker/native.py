"""Arguments of the methods of RLlib's configs: which there are, and handing them over."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

from mosaic_worker.spec import Spec, check_native
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from rllib_worker import get_worker_metadata

_METHODS = ("training", "env_runners", "learners", "reporting")
_SET = {
    "num_env_runners": "resources.cpus",
    "num_learners": "resources.cpus and resources.gpus",
    "num_gpus_per_learner": "resources.gpus",
    "create_local_env_runner": "resources.cpus",
    "train_batch_size_per_learner": "algo.num_envs and algo.rollout_steps",
}
"""Arguments that other keys of a spec set."""
_OURS = (
    "gym_env_vectorize_mode",
    "remote_worker_envs",
    "episodes_to_numpy",
    "num_gpus_per_env_runner",
    "store_buffer_in_checkpoints",
)
"""Arguments that have to be as the worker needs them."""
_PLAIN = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}


def apply(config: Any, values: dict[str, Any]) -> None:
    """Hand ``values`` to the methods of ``config`` that take them; the rest are of the networks."""
    network = {name: value for name, value in values.items() if name in _network_fields()}
    config.rl_module(model_config=DefaultModelConfig(**network))
    for name, value in values.items():
        if name not in network:
            getattr(config, _method_of(type(config), name))(**{name: value})


def check(spec: Spec) -> None:
    """Refuse what no method of the algorithm's config takes.

    Raises:
        UserError: names the parameter.
    """
    check_native(spec, "RLlib", _parameters(spec.algo.name))


def native_parameters() -> dict[str, dict[str, Any]]:
    """The parameters of every algorithm; ``set_by`` marks those that another key of the spec sets."""
    return {algo: _parameters(algo) for algo in get_worker_metadata()["algorithms"]}


def _parameters(algo: str) -> dict[str, dict[str, Any]]:
    from rllib_worker.algorithms import RECIPES

    recipe = RECIPES[algo]
    config = recipe.config()
    found = {name: facts for name, facts in _of_config(config) if name not in _OURS}
    for name, default in _network_fields().items():
        if kind := _PLAIN.get(type(default)):
            found[name] = {"type": kind, "default": recipe.network.get(name, default), "help": "of RLlib's networks"}
    names = get_worker_metadata()["algorithms"][algo]["hyperparameters"]
    owners = {**_SET, **{name: f"algo.{canonical}" for canonical, name in names.items()}}
    for name in found:
        if name in owners:
            found[name]["set_by"] = owners[name]
    return dict(sorted(found.items()))


def _of_config(config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for method in _METHODS:
        for kind in reversed(type(config).__mro__):
            function = vars(kind).get(method)
            texts = _texts(function) if function else {}
            for name, parameter in inspect.signature(function).parameters.items() if function else ():
                if name not in vars(config) and name not in _SET:
                    continue  # given up by the library
                value = vars(config).get(name)
                if plain := _plain_type(parameter.annotation, value):
                    yield name, {"type": plain, "default": value, "help": texts.get(name, "")}


def _plain_type(hint: Any, default: Any) -> str | None:
    """The type's name where a spec can say it; None for classes, callables and what the library has given up."""
    if type(default) in _PLAIN:
        return _PLAIN[type(default)]
    named = {_PLAIN[option] for option in typing.get_args(hint) if isinstance(option, type) and option in _PLAIN}
    return (named.pop() if len(named) == 1 else "any") if default is None and named else None


def _method_of(kind: type, name: str) -> str:
    """The method of a config that takes the argument ``name``."""
    functions = ((method, vars(base).get(method)) for base in kind.__mro__ for method in _METHODS)
    return next(method for method, function in functions if function and name in inspect.signature(function).parameters)


def _network_fields() -> dict[str, Any]:
    fields = dataclasses.fields(DefaultModelConfig)
    return {f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory() for f in fields}


def _texts(method: Any) -> dict[str, str]:
    """The first sentence about each argument in the method's docstring."""
    arguments = (inspect.getdoc(method) or "").partition("Args:")[2].partition("Returns:")[0]
    sections = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", arguments, re.DOTALL | re.MULTILINE)
    return {name: " ".join(text.split()).split(". ")[0].rstrip(".") for name, text in sections}
