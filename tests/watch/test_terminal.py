"""``mosaic-pipe runs tail --frames`` on a terminal, and pictures as text."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import pytest
from watched import Watched

from mosaic_pipe.cli.half_blocks import half_blocks, one_of_256, true_colour
from mosaic_pipe.store.states import State

Paint = Callable[..., "subprocess.Popen[str]"]
ENTERED, LEFT = "\x1b[?1049h\x1b[?25l", "\x1b[0m\x1b[?25h\x1b[?1049l"


class Terminal:
    """``runs tail --frames`` on a terminal of 60 columns and 20 lines."""

    def __init__(self, run: Watched, **variables: str) -> None:
        self.ours, theirs = pty.openpty()
        self.resize(20, 60)
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mosaic_pipe.cli.main", "runs", "tail", run.manifest.run_id, "--frames"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "MOSAIC_OUTPUT_DIR": str(run.outputs), "TERM": "xterm", "COLORTERM": "", **variables},
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        self.theirs = theirs
        self.said = ""

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("hhhh", lines, columns, 0, 0))

    def until(self, pattern: str, seconds: float = 120.0) -> str:
        """All that it said until ``pattern`` was there, which is then forgotten."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.said, re.DOTALL)):
            assert time.monotonic() < deadline, self.said[-2000:]
            if select.select([self.ours], [], [], 0.1)[0]:
                self.said += os.read(self.ours, 65536).decode(errors="replace")
        said, self.said = self.said[: found.end()], self.said[found.end() :]
        return said

    def end(self) -> int:
        """Its exit code; the terminal is then as it was."""
        self.until(re.escape(LEFT))
        code = self.process.wait(120)
        assert termios.tcgetattr(self.theirs) == self.before
        return code


def _take_terminal() -> None:
    """In the new process: Ctrl-C on its terminal is a signal to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(run: Watched) -> Iterator[Callable[..., Terminal]]:
    made: list[Terminal] = []

    def start(**variables: str) -> Terminal:
        made.append(Terminal(run, **variables))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.wait()
        os.close(one.ours)
        os.close(one.theirs)


def test_frames_and_metrics_are_shown_until_the_run_ends(
    run: Watched, painter: Paint, terminal: Callable[..., Terminal]
) -> None:
    painter("--size", "84x84x3")
    shown = terminal(COLORTERM="truecolor")
    said = shown.until("painter 0  return .*  reward 0  steps/s 1000")
    assert said.startswith(ENTERED)
    assert "\x1b[38;2;40;60;200m" in said
    line = re.search("\x1b\\[18;1H( *)(\x1b[^H]*▀)\x1b\\[0m", said)
    assert line is not None
    assert (len(line[1]), line[2].count("▀")) == (12, 36)  # 36 characters are as wide as 18 are high
    run.say(State.COMPLETED)
    assert shown.end() == 0
    shown.until("the run has ended: COMPLETED")


@pytest.mark.parametrize("how", ["Ctrl-C", "q", "SIGTERM"])
def test_the_terminal_is_as_it_was(run: Watched, painter: Paint, terminal: Callable[..., Terminal], how: str) -> None:
    painter()
    shown = terminal()
    assert "\x1b[38;5;" in shown.until("▀.*painter 0")  # 256 colours, where more are not promised
    if how == "SIGTERM":
        shown.process.terminate()
    else:
        os.write(shown.ours, b"\x03" if how == "Ctrl-C" else b"xq")
    assert shown.end() == (0 if how == "q" else 130)


def test_a_resized_terminal_is_filled_again(run: Watched, painter: Paint, terminal: Callable[..., Terminal]) -> None:
    painter()
    shown = terminal()
    shown.until("▀.*painter 0")
    shown.resize(10, 30)
    shown.until("\x1b\\[2J.*\x1b\\[10;1H")


def test_a_note_says_why_there_is_nothing(run: Watched, painter: Paint, terminal: Callable[..., Terminal]) -> None:
    painter("--note", "no \x1b[31mrenderer")
    shown = terminal()
    said = shown.until("renderer")
    assert "no  [31mrenderer" in said  # nothing that the terminal would obey
    assert "▀" not in said


def test_what_is_no_terminal_gets_a_message(run: Watched) -> None:
    command = [sys.executable, "-m", "mosaic_pipe.cli.main", "runs", "tail", run.manifest.run_id, "--frames"]
    done = subprocess.run(
        command, env={**os.environ, "MOSAIC_OUTPUT_DIR": str(run.outputs)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "frames are for a terminal" in done.stderr
    assert "record" in done.stderr


def test_half_blocks_name_a_colour_only_where_it_changes() -> None:
    red, blue = b"\xff\x00\x00", b"\x00\x00\xff"
    assert half_blocks(red * 2 + blue * 2, 2, true_colour) == ["\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀▀\x1b[0m"]
    two = half_blocks(red * 4 + blue + red + blue * 2, 2, true_colour)
    assert len(two) == 2
    assert two[1] == "\x1b[38;2;0;0;255m\x1b[48;2;0;0;255m▀\x1b[38;2;255;0;0m▀\x1b[0m"


def test_256_colours_are_the_nearest_there_are() -> None:
    levels = [0, 95, 135, 175, 215, 255]
    for red, green, blue in [(0, 0, 0), (255, 255, 255), (40, 60, 200), (96, 134, 1), (120, 60, 199)]:
        number = int(one_of_256(red, green, blue).removeprefix("5;")) - 16
        found = levels[number // 36], levels[number // 6 % 6], levels[number % 6]
        for value, got in zip((red, green, blue), found, strict=True):
            assert abs(got - value) == min(abs(level - value) for level in levels)
    assert one_of_256(128, 128, 128) == "5;244"  # which is 0x808080
    assert one_of_256(8, 8, 8) == "5;232"
    assert one_of_256(238, 238, 238) == "5;255"
