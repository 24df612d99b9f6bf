"""The training loop of a script: finding it in the source, and standing in for its ``range``.

Every script trains in ``for … in range(…)`` statements at module level, the innermost of which counts
``global_step``. The source stays as it is: the module's builtins get a ``range`` that knows these lines. The head of
each iteration is a point where all of the script's state is in its global names, and so a point where training can be
left and taken up again.
"""

import ast
import builtins
import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from mosaic_worker.errors import UserError
from mosaic_worker.session import Session

Position = tuple[int, ...]
"""Iterations done of each nested loop, outermost first; shorter at the head of an outer loop."""


def loop_lines(tree: ast.Module) -> tuple[int, ...]:
    """Lines of the ``range`` calls of the training loop, outermost first; none where there is no such loop."""
    nests = list(_nests(tree.body, ()))
    deepest = max((len(nest) for nest in nests), default=0)
    return next((nest for nest in reversed(nests) if len(nest) == deepest), ())


class MainLoop:
    """Calls ``reached`` at heads of iterations of the training loop, where ``session`` wants a safe point."""

    def __init__(
        self,
        lines: Sequence[int],
        session: Session,
        reached: Callable[[], None],
        ended: Callable[[], None],
        start: Position = (),
    ) -> None:
        """``ended`` is called after the last iteration; ``start``: the position to begin at."""
        self._depths = {line: depth for depth, line in enumerate(lines)}
        self._places: dict[tuple[int, int], int | None] = {}
        self._session = session
        self._reached, self._ended = reached, ended
        self._start = list(start)
        self._loops: list[_Loop] = []
        session.on_safe_point_wanted = self._interrupt

    @property
    def position(self) -> Position:
        """Where the script is, at a head."""
        return (*(loop.begun - 1 for loop in self._loops[:-1]), self._loops[-1].begun)

    def range_(self, *arguments: int) -> Any:
        """``range`` for the script: the real one, but for the calls that drive its training loop."""
        depth = self._depth_of(sys._getframe(1))
        values = builtins.range(*arguments)
        return values if depth is None else _Loop(values, lambda loop: self._heads(loop, depth))

    def _depth_of(self, frame: types.FrameType) -> int | None:
        """How deep in the training loop the call that ``frame`` is at stands; None: it is another one.

        Python finds a line by reading the table of all lines before it, thousands of instructions for the end of a
        script, and scripts call ``range`` in every step: each place is looked up once.
        """
        place = (id(frame.f_code), frame.f_lasti)
        if place not in self._places:
            self._places[place] = self._depths.get(frame.f_lineno)
        return self._places[place]

    def _heads(self, loop: "_Loop", depth: int) -> Iterator[Iterator[int]]:
        """The iterations of ``loop``, in stretches that begin where :meth:`_interrupt` has ended the one before."""
        self._loops[depth:] = [loop]
        loop.go_to(self._first(len(loop), depth))
        while loop.begun < len(loop):
            if self._session.wants_safe_point:
                del self._loops[depth + 1 :]
                self._reached()
            yield loop.rest(1 if self._session.wants_safe_point else None)
        if depth == 0:
            del self._loops[1:]
            self._ended()

    def _interrupt(self) -> None:
        for loop in self._loops:
            loop.interrupt()

    def _first(self, count: int, depth: int) -> int:
        """The index that a loop of ``count`` iterations begins at."""
        if len(self._start) <= depth:
            return 0
        first = self._start[depth]
        if depth == 0 and first >= count:
            raise UserError("total_timesteps: the checkpoint has used up this budget; give a larger one")
        if len(self._start) == depth + 1:  # the position is reached: later loops begin at their beginning
            self._start = []
        return first


class _Loop:
    """A ``range`` whose iterations come in stretches.

    A generator would cost each of a million steps a microsecond. What the script iterates over are iterators of real
    ranges, one after the other: each can be told from outside that it is at its end, and how far it has come.
    """

    def __init__(self, values: range, stretches: Callable[["_Loop"], Iterator[Iterator[int]]]) -> None:
        self._values, self._stretches = values, stretches
        self.go_to(0)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self._stretches(self))

    @property
    def begun(self) -> int:
        """How many iterations have begun."""
        return self._end - int(self._stretch.__length_hint__())

    def go_to(self, index: int) -> None:
        """Count the first ``index`` iterations as begun."""
        self._end, self._stretch = index, _iterator(builtins.range(0))

    def rest(self, most: int | None = None) -> Iterator[int]:
        """A stretch of the iterations that have not begun, ``most`` of them."""
        begun = self.begun
        values = self._values[begun:][:most]
        self._end, self._stretch = begun + len(values), _iterator(values)
        return cast("Iterator[int]", self._stretch)

    def interrupt(self) -> None:
        """End the stretch."""
        self._end = self.begun
        self._stretch.__setstate__(len(self._values))  # where an iterator has nothing left


def _iterator(values: range) -> Any:
    return iter(values)


def _nests(body: Sequence[ast.stmt], above: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """For each place that counts ``global_step`` in a loop, the lines of the ranges around it."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        here = above
        if isinstance(statement, ast.For) and (line := _range_line(statement.iter)):
            here = (*above, line)
            if _counts(statement.target):
                yield here
        elif above and _assigns(statement):
            yield above
        for part in ("body", "orelse"):
            yield from _nests(getattr(statement, part, ()), here)


def _range_line(node: ast.expr) -> int | None:
    """The line of the ``range(…)`` in ``node``; it may stand inside another call, such as a progress bar's."""
    calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
    return next((call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "range"), None)


def _assigns(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(_counts(target) for target in targets if target is not None)


def _counts(target: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "global_step" for node in ast.walk(target))
