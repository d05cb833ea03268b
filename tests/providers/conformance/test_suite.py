"""What the suite itself promises: no difference is forgotten, and a plugin that ends fails one test alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests import closing_lines
from tests.providers.conformance.differences import DIFFERENCES, expect
from tests.providers.conformance.worlds import OFFICIAL, World
from tests.providers.harness import PluginDied


def collected(name: str) -> Any:
    marks: list[pytest.MarkDecorator] = []
    return SimpleNamespace(name=name, marks=marks, add_marker=marks.append)


def test_an_expected_difference_that_is_none_any_more_is_an_error() -> None:
    items = [collected(f"{entry.test}[{OFFICIAL}{entry.about}]") for entry in DIFFERENCES]
    assert expect(items) == []
    for item, entry in zip(items, DIFFERENCES, strict=True):
        (mark,) = item.marks
        assert (mark.name, mark.kwargs["strict"], mark.kwargs["reason"]) == ("xfail", True, entry.reason)


def test_only_the_official_plugin_may_differ() -> None:
    item = collected(f"{DIFFERENCES[0].test}[{DIFFERENCES[0].about}]")
    expect([item])
    assert item.marks == []


def test_an_entry_without_a_test_is_named() -> None:
    first = DIFFERENCES[0]
    assert expect([collected(f"{first.test}[another]")]) == [entry for entry in DIFFERENCES if entry.test == first.test]


def test_a_plugin_that_ended_fails_its_call_and_is_started_again(
    worlds: Callable[[str], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(closing_lines, "say", said.append)
    killed = worlds("nomad").plugin
    killed.process.kill()
    with pytest.raises(PluginDied, match="exit code -9"):
        killed.check_config({})
    again = worlds("nomad").plugin
    assert again is not killed
    assert again.check_config({"address": "http://127.0.0.1:9"}).failures == []
    assert said == ["conformance: the plugin nomad had ended and was started again"]
