"""What every function promises."""

from __future__ import annotations

import pytest

from tests.providers.conformance.life import spellings
from tests.providers.conformance.subjects import FunctionSubject
from tests.providers.conformance.worlds import World
from tests.providers.harness import Failed


def test_it_answers_with_what_it_was_asked(place: World, function: FunctionSubject) -> None:
    args = function.args(place)
    result = place.plugin.invoke(function.token, args)
    assert {name: result[name] for name in args} == args
    if function.plugin != "nomad-csi":
        assert result["id"] not in (None, "")


def test_it_changes_nothing(place: World, function: FunctionSubject) -> None:
    args = function.args(place)
    before = place.writes()
    place.plugin.invoke(function.token, args)
    assert place.writes() == before


def test_a_missing_or_unknown_argument_is_told_by_name(place: World, function: FunctionSubject) -> None:
    args = function.args(place)
    with pytest.raises(Failed, match=spellings("noSuchArgument")):
        place.plugin.invoke(function.token, args | {"noSuchArgument": "x"})
    for name in sorted(function.required):
        with pytest.raises(Failed, match=spellings(name)):
            place.plugin.invoke(function.token, {key: value for key, value in args.items() if key != name})
