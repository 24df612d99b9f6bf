"""The state of an algorithm and of its buffer as plain containers and tensors, and back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from mosaic_worker.rl.randomness import plain, unplain
from tianshou.data import Batch, ReplayBuffer
from tianshou.utils import RunningMeanStd

_COUNTS = ("_size", "_insertion_idx", "_ep_return", "_ep_len", "_ep_start_idx")
_COUNTERS = ("_iter", "_cnt", "_last", "_last_actor_loss", "critic_gradient_step")
"""Numbers that training changes, by their names in one algorithm or another."""
_PRIORITIES = ("_max_prio", "_min_prio", "_beta")


def capture_algorithm(algorithm: Any) -> dict[str, Any]:
    """Networks, optimisers, learning rate schedules, counters, running statistics."""
    alpha = _alpha_optimizer(algorithm)
    found = {
        "weights": _without_numpy(dict(algorithm.state_dict())),
        "alpha_optimizer": alpha.state_dict() if alpha else None,
        "schedules": [schedule.last_epoch for schedule in algorithm.lr_schedulers],
        "counters": {name: getattr(algorithm, name) for name in _COUNTERS if hasattr(algorithm, name)},
        "statistics": [[_number(s.mean), _number(s.var), s.count] for s in _statistics(algorithm)],
    }
    if hasattr(algorithm, "cql_alpha_optim"):
        found["cql_alpha"] = algorithm.cql_log_alpha.detach().clone()
        found["cql_alpha_optimizer"] = algorithm.cql_alpha_optim.state_dict()
    if hasattr(algorithm, "expert_buffer"):
        found["expert_random"] = plain(algorithm.expert_buffer._random_state.get_state(legacy=False))
    return found


def restore_algorithm(algorithm: Any, saved: dict[str, Any]) -> None:
    """Put a captured state into an algorithm of the same kind; settings stay as they are.

    Raises:
        ValueError, RuntimeError, KeyError: it is of other networks.
    """
    optimizers = [optimizer._optim for optimizer in algorithm._optimizers]
    if alpha := _alpha_optimizer(algorithm):
        optimizers.append(alpha)
    if weight := getattr(algorithm, "cql_alpha_optim", None):
        optimizers.append(weight)
    settings = [[_settings(group) for group in optimizer.param_groups] for optimizer in optimizers]
    algorithm.load_state_dict(dict(saved["weights"]))
    if alpha:
        alpha.load_state_dict(saved["alpha_optimizer"])
    if weight:
        algorithm.cql_log_alpha.data.copy_(saved["cql_alpha"])
        weight.load_state_dict(saved["cql_alpha_optimizer"])
    if "expert_random" in saved:
        algorithm.expert_buffer._random_state.set_state(unplain(saved["expert_random"]))
    for optimizer, groups in zip(optimizers, settings, strict=True):
        for group, ours in zip(optimizer.param_groups, groups, strict=True):
            group.update(ours)
    for schedule, last in zip(algorithm.lr_schedulers, saved["schedules"], strict=True):
        _continue_schedule(schedule, last)
    for name, value in saved["counters"].items():
        setattr(algorithm, name, value)
    for statistics, (mean, var, count) in zip(_statistics(algorithm), saved["statistics"], strict=True):
        statistics.mean, statistics.var, statistics.count = mean, var, count


def restore_policy(algorithm: Any, saved: dict[str, Any]) -> None:
    """Put the networks of a captured state alone into an algorithm of the same kind.

    Raises:
        RuntimeError: they are others.
    """
    torch.nn.Module.load_state_dict(
        algorithm, {name: value for name, value in saved["weights"].items() if name != "_optimizers"}
    )


def buffer_size(buffer: ReplayBuffer) -> int:
    """Bytes of the rows in use."""
    return sum(rows.nbytes for _, rows in _rows(buffer))


def capture_buffer(buffer: Any, *, with_rows: bool) -> dict[str, Any]:
    """Rows (where wanted), places and generators of a vector of buffers."""
    found: dict[str, Any] = {
        "children": [{name: _number(getattr(child, name)) for name in _COUNTS} for child in buffer.buffers],
        "random": [plain(one._random_state.get_state(legacy=False)) for one in (buffer, *buffer.buffers)],
        "rows": {name: torch.from_numpy(rows.copy()) for name, rows in _rows(buffer)} if with_rows else None,
    }
    if with_rows and hasattr(buffer, "weight"):
        # in their own precision, in which Tianshou goes on computing with them
        found["priorities"] = {name: torch.from_numpy(np.array(getattr(buffer, name))) for name in _PRIORITIES}
        found["tree"] = torch.from_numpy(buffer.weight[np.concatenate(_used(buffer))])
    return found


def restore_buffer(buffer: Any, saved: dict[str, Any]) -> None:
    """Put captured rows, places and generators into a buffer of the same size.

    Raises:
        ValueError: it is of another size, or of other spaces.
    """
    for one, said in zip((buffer, *buffer.buffers), saved["random"], strict=True):
        one._random_state.set_state(unplain(said))
    if saved["rows"] is None:
        return
    for child, said in zip(buffer.buffers, saved["children"], strict=True):
        if said["_size"] > child.maxsize or (said["_size"] < child.maxsize and said["_insertion_idx"] != said["_size"]):
            raise ValueError(f"its replay buffer holds {said['_size']} rows, this one {child.maxsize}")
        for name, value in said.items():
            setattr(child, name, value)
        child.last_index[0] = (said["_insertion_idx"] - 1) % child.maxsize if said["_size"] else 0
    buffer._lengths = np.array([len(child) for child in buffer.buffers])
    buffer.last_index = np.array([child.last_index[0] for child in buffer.buffers]) + buffer._offset
    if not saved["rows"]:
        return
    _fill(buffer, {name: rows.numpy() for name, rows in saved["rows"].items()})
    if "tree" in saved:
        for name, value in saved["priorities"].items():
            setattr(buffer, name, value.numpy()[()])
        buffer.weight[np.concatenate(_used(buffer))] = saved["tree"].numpy()


def _fill(buffer: Any, rows: dict[str, np.ndarray]) -> None:
    used = np.concatenate(_used(buffer))
    batch = Batch()
    for name, values in rows.items():
        whole = np.zeros((buffer.maxsize, *values.shape[1:]), dtype=values.dtype)
        whole[used] = values
        _put(batch, name.split("/"), whole)
    if "policy" not in batch:
        batch.policy = Batch()
    buffer.set_batch(batch)


def _put(batch: Batch, path: list[str], value: np.ndarray) -> None:
    for name in path[:-1]:
        if name not in batch:
            batch[name] = Batch()
        batch = batch[name]
    batch[path[-1]] = value


def _used(buffer: Any) -> list[np.ndarray]:
    """The indices of each child's rows in use."""
    places = zip(buffer._offset, buffer.buffers, strict=True)
    return [offset + np.arange(len(child)) for offset, child in places]


def _rows(buffer: Any) -> Iterator[tuple[str, np.ndarray]]:
    used = np.concatenate(_used(buffer))
    if len(used):
        for name, values in _arrays(buffer._meta, ""):
            yield name, values[used]


def _arrays(batch: Any, path: str) -> Iterator[tuple[str, np.ndarray]]:
    for name, value in batch.items():
        if isinstance(value, Batch):
            yield from _arrays(value, f"{path}{name}/")
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            yield f"{path}{name}", value


def _settings(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _continue_schedule(schedule: Any, last: int) -> None:
    schedule.last_epoch = last
    for group, base, factor in zip(
        schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True
    ):
        group["lr"] = base * factor(last)


def _statistics(algorithm: Any) -> list[RunningMeanStd]:
    holders: tuple[Any, ...] = (algorithm, getattr(algorithm, "discounted_return_computation", None))
    return [holder.ret_rms for holder in holders if hasattr(holder, "ret_rms")]


def _alpha_optimizer(algorithm: Any) -> Any:
    """That of a learned entropy coefficient, which Tianshou's own state dict leaves out."""
    return getattr(getattr(algorithm, "alpha", None), "_optim", None)


def _without_numpy(value: Any) -> Any:
    """Schedules leave learning rates that are NumPy's."""
    if isinstance(value, dict):
        return {name: _without_numpy(item) for name, item in value.items()}
    return [_without_numpy(item) for item in value] if isinstance(value, list) else _number(value)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic | np.ndarray) else value
