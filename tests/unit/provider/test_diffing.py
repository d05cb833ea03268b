"""Property by property comparison."""

from typing import Any

import pytest

from nomad_stateful.plugin_server.diffing import Kind, input_diff, property_diff, top_level
from nomad_stateful.plugin_server.values import UNKNOWN


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": True}, {"a": Kind.UPDATE}),
        ({}, {"a": 1}, {"a": Kind.ADD}),
        ({"a": 1}, {}, {"a": Kind.DELETE}),
        ({"a": None}, {}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a.c": Kind.UPDATE}),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, {"a[1]": Kind.UPDATE, "a[2]": Kind.ADD}),
        ({"a": {"x.y": 1}}, {"a": {"x.y": 2}}, {'a["x.y"]': Kind.UPDATE}),
        ({"a": "v"}, {"a": UNKNOWN}, {"a": Kind.UPDATE}),
        ({"a": [1]}, {"a": UNKNOWN}, {"a": Kind.UPDATE}),
        ({}, {"a": UNKNOWN}, {"a": Kind.ADD}),
    ],
)
def test_a_difference_is_named_by_its_path(old: Any, new: Any, expected: dict[str, Kind]) -> None:
    assert property_diff(old, new) == expected


def test_a_change_below_a_replacing_input_replaces() -> None:
    detailed = input_diff({"keep": {"a": "1"}, "t": 1}, {"keep": {"a": "2"}, "t": 2}, {"keep"})
    assert detailed == {"keep.a": Kind.UPDATE_REPLACE, "t": Kind.UPDATE}


def test_bookkeeping_of_the_bridge_is_no_difference() -> None:
    assert input_diff({"__defaults": ["a"], "a": 1}, {"a": 1}) == {}


@pytest.mark.parametrize(
    ("path", "name"), [("a", "a"), ("a.b[0]", "a"), ("a[0]", "a"), ('["x.y"].z', "x.y"), ('a["q"]', "a")]
)
def test_the_top_level_name_of_a_path(path: str, name: str) -> None:
    assert top_level(path) == name
