"""The state of an agent and of its memory as plain containers and tensors, and back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LinearLR
from xuance.common import MARL_OffPolicyBuffer_RNN
from xuance.common.segtree_tool import SegmentTree

_PROGRESS = (
    *("current_step", "current_episode", "returns", "actions_mean"),
    *("e_greedy", "egreedy", "noise_scale", "PER_beta"),
)
_STATISTICS = ("obs_rms", "ret_rms")
_NOT_OURS = ("policy", "config", "callback")
"""Attributes of a learner that are the agent's."""


def capture_agent(agent: Any) -> dict[str, Any]:
    """Networks, optimisers, learning rates, counters, running statistics."""
    learner = agent.learner
    return {
        "policy": agent.policy.state_dict(),
        "modules": {path: module.state_dict() for path, module in _held(learner, nn.Module)},
        "tensors": {path: tensor.detach().clone() for path, tensor in _held(learner, torch.Tensor)},
        "optimizers": {path: optimizer.state_dict() for path, optimizer in _held(learner, Optimizer)},
        "schedules": {path: _schedule(schedule) for path, schedule in _held(learner, LinearLR)},
        "iterations": {name: _plain(value) for name, value in vars(learner).items() if _is_counter(name)},
        "progress": {name: _plain(getattr(agent, name)) for name in _PROGRESS if hasattr(agent, name)},
        "statistics": {name: _moments(getattr(agent, name)) for name in _STATISTICS if hasattr(agent, name)},
    }


def restore_agent(agent: Any, saved: dict[str, Any]) -> None:
    """Put a captured state into an agent of the same kind; settings stay as they are.

    Raises:
        RuntimeError, ValueError, KeyError: it is of other networks.
    """
    learner = agent.learner
    restore_policy(agent, saved)
    for path, module in _held(learner, nn.Module):
        module.load_state_dict(saved["modules"][path])
    for path, tensor in _held(learner, torch.Tensor):
        tensor.data = saved["tensors"][path].clone()
    for path, optimizer in _held(learner, Optimizer):
        _restore_optimizer(optimizer, saved["optimizers"][path])
    for path, schedule in _held(learner, LinearLR):
        _continue_schedule(schedule, saved["schedules"][path])
    vars(learner).update(saved["iterations"])
    for name, value in saved["progress"].items():
        setattr(agent, name, _unplain(value))


def restore_policy(agent: Any, saved: dict[str, Any]) -> None:
    """Put what acts alone, networks and normalisation, into an agent of the same kind.

    Raises:
        RuntimeError: its networks are others.
    """
    agent.policy.load_state_dict(saved["policy"])
    for name, (mean, variance, count) in saved["statistics"].items():
        statistics = getattr(agent, name)
        statistics.mean, statistics.var, statistics.count = mean.numpy().copy(), variance.numpy().copy(), count


def memory_size(memory: Any) -> int:
    """Bytes of the rows in use."""
    return sum(rows.nbytes for _, rows in _rows(memory))


def capture_memory(memory: Any) -> dict[str, Any]:
    """Rows in use, and where the next one goes."""
    rows = {path: torch.from_numpy(np.ascontiguousarray(rows)).clone() for path, rows in _rows(memory)}
    trees = {path: torch.tensor(tree._value, dtype=torch.float64) for path, tree in _trees(memory)}
    highest = torch.from_numpy(memory._max_priority.copy()) if trees else None
    return {"ptr": int(memory.ptr), "size": int(memory.size), "rows": rows, "trees": trees, "highest": highest}


def restore_memory(memory: Any, saved: dict[str, Any]) -> None:
    """Put captured rows into a memory of the same size.

    Raises:
        ValueError: it is of another size, or of other spaces.
    """
    size = saved["size"]
    room = memory.buffer_size if isinstance(memory, MARL_OffPolicyBuffer_RNN) else memory.n_size
    if size > room or (size < room and saved["ptr"] != size):
        raise ValueError(f"its replay buffer holds {size} rows, this one {room}")
    memory.ptr, memory.size = saved["ptr"] % room, size
    for path, rows in _rows(memory):
        rows[:] = saved["rows"][path].numpy()
    for path, tree in _trees(memory):
        if len(saved["trees"][path]) != len(tree._value):
            raise ValueError("its replay buffer is of another size, and priorities cannot be moved")
        tree._value = saved["trees"][path].tolist()
        memory._max_priority = saved["highest"].numpy().copy()


def _rows(memory: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The rows in use of each array."""
    if isinstance(memory, MARL_OffPolicyBuffer_RNN):  # whole episodes, of whichever environment
        yield from ((path, rows[: int(memory.size)]) for path, rows in _leaves(memory.data, "data"))
        return
    for path, array in _leaves(vars(memory), ""):
        if isinstance(array, np.ndarray) and array.shape[:2] == (memory.n_envs, memory.n_size):
            yield path, array[:, : int(memory.size)]


def _trees(memory: Any) -> Iterator[tuple[str, SegmentTree]]:
    """Sums and minima of priorities."""
    return ((path, tree) for path, tree in _leaves(vars(memory), "") if isinstance(tree, SegmentTree))


def _held(learner: Any, kind: type) -> Iterator[tuple[str, Any]]:
    own = {name: value for name, value in vars(learner).items() if name not in _NOT_OURS}
    return ((path, value) for path, value in _leaves(own, "") if isinstance(value, kind))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, f"{path}/{name}" if path else str(name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _leaves(part, f"{path}/{number}")
    else:
        yield path, value


def _schedule(schedule: LinearLR) -> dict[str, Any]:
    return {"steps": schedule.last_epoch, **_course(schedule)}


def _course(schedule: LinearLR) -> dict[str, Any]:
    return {"base": list(schedule.base_lrs), "end": schedule.end_factor, "total": schedule.total_iters}


def _restore_optimizer(optimizer: Optimizer, saved: dict[str, Any]) -> None:
    """Moments as they were; settings stay as they are."""
    settings = [{name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups]
    optimizer.load_state_dict(saved)
    for group, ours in zip(optimizer.param_groups, settings, strict=True):
        same_course = "initial_lr" in ours and group["initial_lr"] == ours["initial_lr"]
        group.update(ours, lr=group["lr"] if same_course else ours["lr"])


def _continue_schedule(schedule: LinearLR, saved: dict[str, Any]) -> None:
    """Go on where it was; one of another course goes to where its own would be."""
    schedule.last_epoch = saved["steps"]
    schedule._last_lr = [group["lr"] for group in schedule.optimizer.param_groups]
    if saved == _schedule(schedule):
        return
    for group, rate in zip(schedule.optimizer.param_groups, schedule._get_closed_form_lr(), strict=True):
        group["lr"] = rate


def _moments(statistics: Any) -> tuple[torch.Tensor, torch.Tensor, float]:
    return torch.from_numpy(np.array(statistics.mean)), torch.from_numpy(np.array(statistics.var)), statistics.count


def _is_counter(name: str) -> bool:
    return name.endswith("iterations") or name == "kl_coef"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    return value.item() if isinstance(value, np.generic) else value


def _unplain(value: Any) -> Any:
    if isinstance(value, list):
        return [_unplain(part) for part in value]
    if isinstance(value, dict):
        return {name: _unplain(part) for name, part in value.items()}
    return value.numpy().copy() if isinstance(value, torch.Tensor) else value
