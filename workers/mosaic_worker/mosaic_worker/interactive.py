"""A conversation with one environment and one policy: commands and replies as JSON lines; docs/interactive.md.

Commands are read as they come: two in one packet, half a line now and the rest later, empty lines. What is no command
costs an ``error`` reply and nothing else. The conversation ends at ``stop``, at the end of the input, or on SIGTERM.
"""

import json
import os
from typing import Any, Dict, Iterator, Mapping, Optional, Protocol

from mosaic_worker.errors import UserError

VERSION = 1
MAX_COMMAND = 1 << 20
"""Bytes of one command line; a longer one is refused and skipped to its end."""


class Interaction(Protocol):
    """What a worker puts into a conversation. Methods may raise ``UserError``; the message goes into the reply."""

    facts: Mapping[str, Any]
    """What the first reply says of the environment and the policy."""

    def reset(self, seed: Optional[int]) -> Dict[str, Any]:
        """Begin an episode; returns ``observation``."""
        ...

    def step(self, action: Any) -> Dict[str, Any]:
        """Take ``action``, or the policy's where it is None; returns what came of it."""
        ...

    def select_action(self, observation: Any) -> Any:
        """The policy's action for ``observation``, or for the current one where it is None."""
        ...

    def frame(self) -> Dict[str, Any]:
        """What the environment looks like: ``shape`` and ``rgb``, base64 of its bytes."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def converse(interaction: Interaction, commands_fd: int, replies_fd: int) -> None:
    """Answer commands until ``stop`` or the end of the input."""
    replies = _Replies(replies_fd)
    replies.send("init", {"version": VERSION, **interaction.facts})
    try:
        for line in _lines(commands_fd):
            if not _answer(interaction, line, replies):
                return
    except BrokenPipeError:  # nobody listens any more
        return
    finally:
        interaction.close()


def _answer(interaction: Interaction, line: Optional[bytes], replies: "_Replies") -> bool:
    """Answer one line; whether the conversation goes on."""
    try:
        command = _command(line)
        name = command.get("cmd")
        if name == "stop":
            replies.send("stopped", {})
            return False
        if name == "ping":
            replies.send("pong", {})
        elif name == "reset":
            replies.send("ready", _with_frame(interaction, command, interaction.reset(_seed(command))))
        elif name == "step":
            taken = _with_frame(interaction, command, interaction.step(command.get("action")))
            replies.send("step", taken)
            if taken.get("terminated") or taken.get("truncated"):
                replies.send("episode_done", {key: taken.get(key) for key in ("episode_return", "episode_length")})
        elif name == "select_action":
            replies.send("action_selected", {"action": interaction.select_action(command.get("observation"))})
        else:
            raise UserError(f"no command {name!r}; there are: reset, step, select_action, ping, stop")
    except UserError as error:
        replies.send("error", {"message": str(error)})
    return True


def _command(line: Optional[bytes]) -> Dict[str, Any]:
    if line is None:
        raise UserError(f"a line of more than {MAX_COMMAND} bytes")
    try:
        command = json.loads(line)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise UserError(f"not JSON: {error}") from error
    if not isinstance(command, dict):
        raise UserError('a command is an object, such as {"cmd": "reset"}')
    return command


def _seed(command: Dict[str, Any]) -> Optional[int]:
    seed = command.get("seed")
    if seed is None or (isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**32):
        return seed
    raise UserError(f"seed: {seed!r} is no integer from 0 to 2**32 - 1")


def _with_frame(interaction: Interaction, command: Dict[str, Any], answer: Dict[str, Any]) -> Dict[str, Any]:
    return {**answer, "frame": interaction.frame()} if command.get("render") is True else answer


def _lines(fd: int) -> Iterator[Optional[bytes]]:
    """Whole lines from ``fd`` that are not empty, the last one even without its newline; None for one too long."""
    waiting, too_long = b"", False
    while True:
        block = os.read(fd, 65536)
        *whole, waiting = (waiting + block).split(b"\n")
        for line in whole:
            if too_long or len(line) > MAX_COMMAND:
                too_long = False
                yield None
            elif line.strip():
                yield line
        if len(waiting) > MAX_COMMAND:
            waiting, too_long = b"", True
        if not block:
            if waiting.strip():
                yield waiting
            return


class _Replies:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def send(self, kind: str, payload: Mapping[str, Any]) -> None:
        line = json.dumps({"type": kind, **payload}, separators=(",", ":")).encode() + b"\n"
        while line:
            line = line[os.write(self._fd, line) :]
