"""Hydra's sweep syntax, read as a search space."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.search_space import search_space, some_values, space_differences, space_overrides, told
from mosaic_pipe.store.studies import Axis, Space


def _space(*overrides: str) -> tuple[Space, list[str]]:
    return search_space(OverridesParser.create().parse_overrides(list(overrides)))


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("interval(0.9,0.999)", Axis(low=0.9, high=0.999)),
        ("interval(1,9)", Axis(low=1.0, high=9.0)),
        ("int(interval(1,9))", Axis(low=1, high=9, step=1, whole=True)),
        ("tag(int,interval(1,9))", Axis(low=1, high=9, step=1, whole=True)),
        ("tag(log, interval(1e-5,1e-2))", Axis(low=1e-5, high=1e-2, log=True)),
        ("tag(log, int(interval(1,128)))", Axis(low=1, high=128, step=1, log=True, whole=True)),
        ("range(1,4)", Axis(low=1, high=3, step=1, whole=True)),
        ("range(8,0,-2)", Axis(low=2, high=8, step=2, whole=True)),
        ("range(0.1,0.5,0.1)", Axis(low=0.1, high=0.4, step=0.1)),
        ("choice(4,8)", Axis(choices=("4", "8"))),
        ("a,b,a", Axis(choices=("a", "b"))),
        ("choice([1,2],{x:1},'a b')", Axis(choices=("[1,2]", "{x:1}", "a\\ b"))),
    ],
)
def test_axes(text: str, axis: Axis) -> None:
    space, constants = _space("env=cartpole", f"+key.of={text}", "~gone")
    assert (space, constants) == ({"+key.of": axis}, ["env=cartpole", "~gone"])
    OverridesParser.create().parse_overrides(space_overrides(space, some_values(space)))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("range(3,3)", "empty"),
        ("interval(2,1)", "begins at 2"),
        ("tag(log,interval(0,1))", "logarithmic"),
        ("tag(log,range(2,9,2))", "logarithmic"),
    ],
)
def test_axes_without_sense(text: str, word: str) -> None:
    with pytest.raises(SpecError, match=word):
        _space(f"key={text}")


def test_nothing_to_optimise() -> None:
    with pytest.raises(SpecError, match="nothing to optimise"):
        _space("env=cartpole")


def test_the_last_of_a_key_counts() -> None:
    assert _space("a=1,2", "b=1,2", "b=3") == ({"a": Axis(choices=("1", "2"))}, ["b=3"])


def test_values_are_those_of_a_grid() -> None:
    space = {"a": Axis(low=0.1, high=0.4, step=0.1), "b": Axis(low=1, high=3, step=1, whole=True)}
    assert space_overrides(space, {"a": 0.1 + 2 * 0.1, "b": 2}) == ["a=0.3", "b=2"]
    free = {"a": Axis(low=0.0, high=1.0)}
    assert space_overrides(free, {"a": 0.1 + 2 * 0.1}) == ["a=0.30000000000000004"]


def test_what_is_shown() -> None:
    space = {"a": Axis(low=0.0, high=1.0), "b": Axis(choices=("abcdefghij",))}
    assert told(["c=1", "a=0.30000000000000004", "b=abcdefghij"], space) == "a=0.3 b=abcdefghij"
    assert str(Axis(low=1e-5, high=1e-2, log=True)) == "numbers from 1e-05 to 0.01, logarithmic"
    assert str(Axis(low=2, high=8, step=2, whole=True)) == "whole numbers from 2 to 8, step 2"
    other = {"a": Axis(low=0.0, high=2.0), "d": Axis(choices=("1", "2"))}
    assert space_differences(space, other) == [
        "a: numbers from 0 to 1, now numbers from 0 to 2",
        "b: one of abcdefghij, now not varied",
        "d: not varied, now one of 1, 2",
    ]
