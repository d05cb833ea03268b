"""Every string of the configuration is refused with a reason, or arrives as it was given."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from tests.injection import hostile
from tests.injection.arriving import arrived, markers, refused, replaced, versions, written
from tests.injection.configurations import EVERYTHING
from tests.injection.leaves import Leaf, leaves, sections, string_keys, visited, with_values

pytestmark = pytest.mark.nomad

LEAVES = leaves(EVERYTHING)
NAMES_OF_SOMETHING = {
    *(
        "plugins.config",
        "plugins.driver",
        "plugins.endpoint",
        "plugins.zones",
        "volumes.zone",
        "volumes.zones",
        "volumes.moveTo",
    ),
    *("plugins.constraints.operator", "consumers.constraints.operator", "mysql.backup.schedule"),
    "volumes.snapshots.schedule",
}
"""Keys without a pattern that take certain words alone, or a driver's own language."""
PLAIN = re.compile(r"[\w.:/@*,?#= ()+-]*")
"""What a key may take that gives no place to a marker: nothing here means anything to anybody."""
POOLS = st.lists(hostile.strings, min_size=1, max_size=30)
STRIDES = st.integers(1, 29)
# The program runs for all places at once: each example is some 130 values.
FEW = max(1, settings.default.max_examples // 16)  # type: ignore[union-attr]
MANY = FEW * 4


@cache
def marked() -> dict[Leaf, str]:
    return markers(EVERYTHING, LEAVES)


@cache
def baseline() -> tuple[dict[str, Any], dict[str, tuple[str, dict[str, Any]]]]:
    made = arrived(with_values(EVERYTHING, marked()))
    return made, versions(made)


def test_the_configuration_has_every_section_and_every_string_of_the_settings() -> None:
    assert visited(EVERYTHING) == sections()
    assert {leaf.key for leaf in LEAVES} == string_keys()


def test_what_takes_any_text_takes_a_marker() -> None:
    """A key that refused everything would pass each of these tests."""
    taken = {leaf.key for leaf in marked()}
    assert string_keys(any_text=True) - taken == NAMES_OF_SOMETHING


@settings(max_examples=settings.default.max_examples * 2)  # type: ignore[union-attr]
@given(leaf=st.sampled_from(LEAVES), value=hostile.strings)
def test_a_refusal_names_key_value_rule_and_remedy(leaf: Leaf, value: str, tally: Counter[str]) -> None:
    error = refused(with_values(EVERYTHING, {leaf: value}))
    event("taken" if error is None else "refused")
    tally["examples"] += 1
    tally["taken" if error is None else "refused"] += 1
    if error is None:
        assert leaf in marked() or PLAIN.fullmatch(value), f"{leaf} takes {value!r}"
        return
    for problem in error.problems:
        assert problem.key
        assert all((problem.value, problem.rule, problem.remedy)), problem
    said = str(error)
    assert said.replace("\n  - ", "").isprintable(), said
    assert len(said) < 4000


@settings(max_examples=FEW, phases=[Phase.explicit, Phase.generate])
@given(pool=POOLS, stride=STRIDES)
def test_what_is_taken_arrives_as_it_was_given_and_changes_nothing_else(
    pool: list[str], stride: int, tally: Counter[str]
) -> None:
    assert_that_it_arrives(pool, stride, tally)


@pytest.mark.nightly
@settings(max_examples=MANY, phases=[Phase.explicit, Phase.generate])
@given(pool=POOLS, stride=STRIDES)
def test_many_more_that_are_taken_arrive_as_they_were_given(pool: list[str], stride: int, tally: Counter[str]) -> None:
    assert_that_it_arrives(pool, stride, tally)


@pytest.mark.parametrize("first", range(0, len(hostile.CLASSICS), 20))
def test_what_is_known_to_break_things_arrives_or_is_refused(first: int, tally: Counter[str]) -> None:
    assert_that_it_arrives(hostile.CLASSICS[first:] + hostile.CLASSICS[:first], 1, tally)


def assert_that_it_arrives(pool: Sequence[str], stride: int, tally: Counter[str]) -> None:
    """Puts strings into all places that take them, and holds what the program makes of it to what it made before."""
    whole, taken = marked(), 0
    for number, leaf in enumerate(whole):
        # Two that are taken apart may be refused together, such as two names that are the same.
        text = pool[number * stride % len(pool)]
        trial = {**whole, leaf: text}
        # An empty one leaves the choice to the driver, to Nomad or to the image.
        if text and refused(with_values(EVERYTHING, trial)) is None:
            whole, taken = trial, taken + 1
    found = arrived(with_values(EVERYTHING, whole))
    made, before = baseline()
    changes = {marked()[leaf]: written(leaf, text) for leaf, text in whole.items()}
    after = versions(found)
    tally["examples"] += 1
    tally["arrived"] += taken
    assert found == replaced(made, changes)
    # A gate waits for its volume before each change of its job, and before nothing else.
    for name, (version, job) in before.items():
        later, changed = after[replaced(name, changes)]
        assert (later != version) == (changed != job), name
