"""The state of a script as plain containers and tensors, which ``torch.load(weights_only=True)`` reads, and back.

A script keeps everything in its global names: networks, optimisers, rollout and replay buffers, counters, running
statistics. :func:`capture` takes all of them that it understands, :func:`restore` puts them into the same script at
the same point. What it does not understand (writers, environments, devices) a script makes anew when it starts.
"""

from collections import deque
from types import ModuleType
from typing import Any

import numpy as np
import torch

_SKIP: Any = object()
_SCALARS = (type(None), bool, int, float, str, bytes)
_NOT_STATE = ("args", "start_time")  # the command line holds anew, and the clock is set by time elapsed
_OBJECTS = ("__main__", "stable_baselines3.common.buffers", "gymnasium.wrappers.normalize", "cleanrl_utils.")
"""Modules whose objects are taken apart: the script's own classes, replay buffers, running statistics."""


def scalars(names: dict[str, Any]) -> dict[str, Any]:
    """The plain values among ``names``."""
    return {name: value for name, value in names.items() if type(value) in _SCALARS}


def capture(names: dict[str, Any], settings: dict[str, Any], buffer_limit: int) -> tuple[dict[str, Any], list[str]]:
    """What changes while a script trains, and the names of replay buffers that were left out.

    Args:
        names: the script's global names.
        settings: its plain values before training: those still the same follow from its arguments and stay out.
        buffer_limit: the size in bytes above which a replay buffer is left out.
    """
    values: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in names.items():
        if (
            isinstance(value, type | ModuleType)
            or name.startswith("__")
            or name in _NOT_STATE
            or (type(value) in _SCALARS and _same(settings, name, value))
        ):
            continue
        if _is_buffer(value) and _size(value) > buffer_limit:
            left_out.append(name)
            continue
        if (said := encode(value)) is not _SKIP:
            values[name] = said
    return values, left_out


def restore(names: dict[str, Any], values: dict[str, Any]) -> None:
    """Put captured ``values`` back into ``names``.

    Raises:
        ValueError: one does not fit what the script has made; names it.
    """
    for name, said in values.items():
        try:
            names[name] = decode(said, names.get(name))
        except (ValueError, RuntimeError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{name}: {error}") from error


def encode(value: Any) -> Any:
    """``value`` in plain terms; ``_SKIP`` for what cannot be said."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, type | ModuleType):
        return _SKIP
    if isinstance(value, torch.nn.Module):
        return {"kind": "module", "state": value.state_dict()}
    if isinstance(value, torch.optim.Optimizer):
        return {"kind": "optimizer", "state": value.state_dict()}
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value)
    if type(value).__module__.startswith("jax") and hasattr(value, "dtype"):
        return {**_encode_array(np.asarray(value)), "kind": "jax"}
    if any(base.__module__.startswith("flax.linen") for base in type(value).__mro__):
        return _SKIP  # a network's description; its parameters are in a train state
    if hasattr(value, "__dataclass_fields__") and hasattr(value, "replace"):  # a flax struct, such as TrainState
        return _encode_flax(value)
    if isinstance(value, dict | list | tuple | deque):
        return _encode_container(value)
    if _is_buffer(value):
        return _encode_buffer(value)
    if type(value).__module__.startswith(_OBJECTS) and hasattr(value, "__dict__"):
        return _encode_object(value)
    return _SKIP


def decode(said: Any, current: Any) -> Any:
    """The value that ``said`` says; where ``current`` can hold it, ``current`` itself, changed in place."""
    if isinstance(said, torch.Tensor):
        return _decode_tensor(said, current)
    if not isinstance(said, dict):
        return said
    return _DECODERS[said["kind"]](said, current)


def _same(settings: dict[str, Any], name: str, value: Any) -> bool:
    return name in settings and type(settings[name]) is type(value) and bool(settings[name] == value)


def _encode_array(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return _SKIP
    signed = array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" and array.dtype != np.uint8 else array
    tensor = torch.from_numpy(np.array(signed))
    return {"kind": "array", "data": tensor, "dtype": str(array.dtype), "scalar": isinstance(value, np.generic)}


def _encode_flax(value: Any) -> Any:
    from flax.serialization import to_state_dict

    state = _encode_container(to_state_dict(value))
    return _SKIP if state is _SKIP else {"kind": "flax", "state": state}


def _encode_container(value: Any) -> Any:
    keys = list(value) if isinstance(value, dict) else None
    items = [encode(item) for item in (value.values() if keys is not None else value)]
    plain_type = type(value).__name__ if type(value) in (dict, list, tuple, deque) else None
    sayable = all(item is not _SKIP for item in items) and all(isinstance(key, _SCALARS) for key in keys or ())
    if plain_type is None or not sayable:
        return _SKIP
    return {"kind": plain_type, "keys": keys, "items": items, "maxlen": getattr(value, "maxlen", None)}


def _encode_object(value: Any) -> Any:
    attributes = {name: encode(item) for name, item in vars(value).items()}
    return {"kind": "object", "attributes": {k: v for k, v in attributes.items() if v is not _SKIP}}


def _is_buffer(value: Any) -> bool:
    """Whether ``value`` is one of Stable-Baselines3's replay buffers: arrays of rows, ``pos`` the next one."""
    return hasattr(value, "buffer_size") and hasattr(value, "pos") and hasattr(value, "full")


def _rows(buffer: Any) -> int:
    """Rows in use; one more than filled, which holds the last next observation where memory is optimised."""
    return int(buffer.buffer_size if buffer.full else min(buffer.pos + 1, buffer.buffer_size))


def _arrays(buffer: Any) -> dict[str, np.ndarray]:
    return {name: array for name, array in vars(buffer).items() if isinstance(array, np.ndarray)}


def _size(buffer: Any) -> int:
    return sum(array[: _rows(buffer)].nbytes for array in _arrays(buffer).values())


def _encode_buffer(buffer: Any) -> Any:
    arrays = {name: _encode_array(array[: _rows(buffer)]) for name, array in _arrays(buffer).items()}
    return {"kind": "buffer", "arrays": arrays, "pos": int(buffer.pos), "full": bool(buffer.full)}


def _decode_tensor(said: torch.Tensor, current: Any) -> torch.Tensor:
    if not isinstance(current, torch.Tensor):
        return said
    if current.shape != said.shape:
        raise ValueError(f"its shape is {tuple(current.shape)}, {tuple(said.shape)} in the checkpoint")
    with torch.no_grad():
        current.copy_(said)
    return current


def _decode_module(said: Any, current: Any) -> Any:
    current.load_state_dict(said["state"])
    return current


def _decode_optimizer(said: Any, current: Any) -> Any:
    """Its moments. Learning rates and the like stay as the script's arguments and schedule have just set them."""
    pairs = zip(current.state_dict()["param_groups"], said["state"]["param_groups"], strict=True)
    groups = [{**group, "params": saved["params"]} for group, saved in pairs]
    current.load_state_dict({"state": said["state"]["state"], "param_groups": groups})
    return current


def _decode_array(said: Any, current: Any) -> Any:
    array = said["data"].numpy().view(said["dtype"])
    if isinstance(current, np.ndarray) and not said["scalar"]:
        if current.shape != array.shape:
            raise ValueError(f"its shape is {current.shape}, {array.shape} in the checkpoint")
        if current.flags.writeable and current.dtype == array.dtype:
            np.copyto(current, array)
            return current
    return array[()] if said["scalar"] else array.copy()


def _decode_jax(said: Any, current: Any) -> Any:
    import jax.numpy

    return jax.numpy.asarray(said["data"].numpy().view(said["dtype"]))


def _decode_flax(said: Any, current: Any) -> Any:
    from flax.serialization import from_state_dict

    return from_state_dict(current, decode(said["state"], None))


def _decode_items(said: Any, current: Any) -> Any:
    items = [decode(item, None) for item in said["items"]]
    if said["kind"] == "deque":
        return deque(items, maxlen=said["maxlen"])
    return tuple(items) if said["kind"] == "tuple" else items


def _decode_dict(said: Any, current: Any) -> Any:
    return dict(zip(said["keys"], (decode(item, None) for item in said["items"]), strict=True))


def _decode_object(said: Any, current: Any) -> Any:
    for name, item in said["attributes"].items():
        setattr(current, name, decode(item, getattr(current, name, None)))
    return current


def _decode_buffer(said: Any, current: Any) -> Any:
    for name, rows in said["arrays"].items():
        array, saved = getattr(current, name), _decode_array(rows, None)
        if array.shape[1:] != saved.shape[1:] or len(saved) > len(array):
            raise ValueError(f"its {name} have shape {array.shape}, {saved.shape} in the checkpoint")
        array[: len(saved)] = saved
    current.full = said["full"] and len(saved) == current.buffer_size
    current.pos = len(saved) if said["full"] and not current.full else said["pos"]
    return current


_DECODERS = {
    "module": _decode_module,
    "optimizer": _decode_optimizer,
    "array": _decode_array,
    "jax": _decode_jax,
    "flax": _decode_flax,
    "list": _decode_items,
    "tuple": _decode_items,
    "deque": _decode_items,
    "dict": _decode_dict,
    "object": _decode_object,
    "buffer": _decode_buffer,
}
