"""From a composed config (a plain container) to a RunSpec, with errors that name the key and where it was set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.spec.curriculum import complete_stages
from mosaic_pipe.spec.identity import new_run_id
from mosaic_pipe.spec.refusals import refuse_unsafe
from mosaic_pipe.spec.schema import RunSpec

Locate = Callable[[str], str]
"""Tells a user where the value of a key was set: a config file or the command line."""


def compose_spec(config: dict[str, Any], locate: Locate = lambda key: key) -> RunSpec:
    """The RunSpec that ``config`` describes, under a fresh run id.

    Args:
        config: plain container, interpolations resolved; the keys of RunSpec without ``run_id``.
        locate: where the value of a dotted key was set, for messages.

    Raises:
        SpecError: unknown key, wrong type, value out of range, anything that would execute code.
    """
    refuse_unsafe(config)
    _refuse_missing(config, locate)
    config = complete_stages(config)
    whole = _whole_numbers({**config, "run_id": new_run_id()}, _schema())
    spec = _convert(whole, locate)
    if spec.resources.heartbeat_timeout <= spec.resources.heartbeat_interval:
        where = locate("resources.heartbeat_timeout")
        raise SpecError("must be longer than resources.heartbeat_interval", where=where)
    return spec


def load_spec(data: bytes, where: str) -> RunSpec:
    """The RunSpec in ``data``, the bytes of a ``spec.json`` at ``where``.

    Raises:
        SpecError: not JSON, or not a spec.
    """
    try:
        return msgspec.json.decode(data, type=RunSpec)
    except msgspec.DecodeError as error:
        raise SpecError(f"not a spec: {error}", where=where) from error


def nearest_key(key: str, more: Iterable[str] = ()) -> str:
    """A hint at the valid key nearest to the dotted ``key``, among a RunSpec's and ``more``."""
    group, _, name = key.rpartition(".")
    known = [k.rpartition(".") for k in (*_keys(_schema(), ""), *more)]
    return did_you_mean(name, [k for g, _, k in known if g == group and k not in ("run_id", "schema_version")])


def is_key(key: str) -> bool:
    """Whether a RunSpec has the dotted ``key``."""
    return key in _keys(_schema(), "")


@cache
def _schema() -> inspect.Type:
    """RunSpec as msgspec describes it, once: it takes longer than all the rest of a composition."""
    return inspect.type_info(RunSpec)


def _convert(config: dict[str, Any], locate: Locate) -> RunSpec:
    try:
        return msgspec.convert(config, RunSpec)
    except msgspec.ValidationError as error:
        message, key = _split(str(error))
        unknown = re.search(r"unknown field `(.+?)`", message)
        if unknown:
            key = f"{key}.{unknown[1]}" if key else unknown[1]
            raise SpecError("unknown key", where=locate(key), hint=nearest_key(key)) from error
        missing = re.search(r"missing required field `(.+?)`", message)
        if missing:
            key = f"{key}.{missing[1]}" if key else missing[1]
            raise SpecError("has no value", where=locate(key), hint=f"set it: {key}=…") from error
        given = _value_at(config, key)
        hint = did_you_mean(str(given), _literals_at(key)) if "enum" in message else ""
        text = f"{message[:1].lower()}{message[1:]} (given: {given!r})"
        raise SpecError(text, where=locate(key), hint=hint) from error


def _split(message: str) -> tuple[str, str]:
    """msgspec's ``Expected `int`, got `str` - at `$.a.b` `` as its text and the dotted key."""
    text, _, path = message.partition(" - at `$")
    return text, re.sub(r"\[(\w+)\]", r".\1", path.rstrip("`")).lstrip(".")


def _literals_at(key: str) -> list[str]:
    """The words that may stand at ``key``."""
    type_: inspect.Type = _schema()
    for part in key.split("."):
        fields = {f.encode_name: f.type for f in type_.fields} if isinstance(type_, inspect.StructType) else {}
        type_ = fields.get(part, type_)
    return [str(value) for value in type_.values] if isinstance(type_, inspect.LiteralType) else []


def _value_at(config: Any, key: str) -> Any:
    for part in key.split("."):
        if isinstance(config, dict) and part in config:
            config = config[part]
        elif isinstance(config, list | tuple) and part.isdigit() and int(part) < len(config):
            config = config[int(part)]
    return config


def _refuse_missing(node: Any, locate: Locate, path: str = "") -> None:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        here = f"{path}.{key}" if path else str(key)
        if value == "???":
            raise SpecError("has no value yet", where=locate(here), hint=f"set it on the command line: {here}=…")
        _refuse_missing(value, locate, here)


def _whole_numbers(value: Any, type_: inspect.Type) -> Any:
    """``1e6`` as 1000000 where an integer is wanted: Hydra reads it as a float, and everyone writes steps that way."""
    if isinstance(type_, inspect.StructType) and isinstance(value, dict):
        types = {f.encode_name: f.type for f in type_.fields}
        return {k: _whole_numbers(v, types[k]) if k in types else v for k, v in value.items()}
    options = type_.types if isinstance(type_, inspect.UnionType) else (type_,)
    wants_int = any(isinstance(option, inspect.IntType) for option in options)
    return int(value) if wants_int and isinstance(value, float) and value.is_integer() else value


def _keys(type_: inspect.Type, path: str) -> Iterator[str]:
    if path:
        yield path
    if isinstance(type_, inspect.StructType):
        for field in type_.fields:
            yield from _keys(field.type, f"{path}.{field.encode_name}" if path else field.encode_name)
