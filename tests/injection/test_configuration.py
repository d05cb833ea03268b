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
from tests.injection.configurations import CONFIGURATIONS
from tests.injection.leaves import Leaf, leaves, sections, string_keys, visited, with_values

pytestmark = pytest.mark.nomad

LEAVES = {name: leaves(config) for name, config in CONFIGURATIONS.items()}
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
    *("plugins.constraints.operator", "consumers.constraints.operator", "volumes.snapshots.schedule"),
    *("mysql.backup.schedule", "postgres.backup.schedule"),
}
"""Keys without a pattern that take certain words alone, or a driver's own language."""
PLAIN = re.compile(r"[\w.:/@*,?#= ()+-]*")
"""What a key may take that gives no place to a marker: nothing here means anything to anybody."""
POOLS = st.lists(hostile.strings, min_size=1, max_size=30)
STRIDES = st.integers(1, 29)
# The program runs for all places at once: each example is some 130 values.
FEW = max(1, settings.default.max_examples // 16)  # type: ignore[union-attr]
MANY = FEW * 4


BOTH = pytest.mark.parametrize("database", CONFIGURATIONS)


@cache
def marked(database: str) -> dict[Leaf, str]:
    return markers(CONFIGURATIONS[database], LEAVES[database])


@cache
def baseline(database: str) -> tuple[dict[str, Any], dict[str, tuple[str, dict[str, Any]]]]:
    made = arrived(with_values(CONFIGURATIONS[database], marked(database)))
    return made, versions(made)


def test_the_configurations_have_every_section_and_every_string_of_the_settings() -> None:
    assert set().union(*map(visited, CONFIGURATIONS.values())) == sections()
    assert {leaf.key for places in LEAVES.values() for leaf in places} == string_keys()


def test_what_takes_any_text_takes_a_marker() -> None:
    """A key that refused everything would pass each of these tests."""
    taken = {leaf.key for database in CONFIGURATIONS for leaf in marked(database)}
    assert string_keys(any_text=True) - taken == NAMES_OF_SOMETHING


@settings(max_examples=settings.default.max_examples * 2)  # type: ignore[union-attr]
@given(at=st.sampled_from([(name, leaf) for name, places in LEAVES.items() for leaf in places]), value=hostile.strings)
def test_a_refusal_names_key_value_rule_and_remedy(at: tuple[str, Leaf], value: str, tally: Counter[str]) -> None:
    database, leaf = at
    error = refused(with_values(CONFIGURATIONS[database], {leaf: value}))
    event("taken" if error is None else "refused")
    tally["examples"] += 1
    tally["taken" if error is None else "refused"] += 1
    if error is None:
        assert leaf in marked(database) or PLAIN.fullmatch(value), f"{leaf} takes {value!r}"
        return
    for problem in error.problems:
        assert problem.key
        assert all((problem.value, problem.rule, problem.remedy)), problem
    said = str(error)
    assert said.replace("\n  - ", "").isprintable(), said
    assert len(said) < 4000


@BOTH
@settings(max_examples=FEW, phases=[Phase.explicit, Phase.generate])
@given(pool=POOLS, stride=STRIDES)
def test_what_is_taken_arrives_as_it_was_given_and_changes_nothing_else(
    database: str, pool: list[str], stride: int, tally: Counter[str]
) -> None:
    assert_that_it_arrives(database, pool, stride, tally)


@pytest.mark.nightly
@BOTH
@settings(max_examples=MANY, phases=[Phase.explicit, Phase.generate])
@given(pool=POOLS, stride=STRIDES)
def test_many_more_that_are_taken_arrive_as_they_were_given(
    database: str, pool: list[str], stride: int, tally: Counter[str]
) -> None:
    assert_that_it_arrives(database, pool, stride, tally)


@BOTH
@pytest.mark.parametrize("first", range(0, len(hostile.CLASSICS), 20))
def test_what_is_known_to_break_things_arrives_or_is_refused(database: str, first: int, tally: Counter[str]) -> None:
    assert_that_it_arrives(database, hostile.CLASSICS[first:] + hostile.CLASSICS[:first], 1, tally)


def assert_that_it_arrives(database: str, pool: Sequence[str], stride: int, tally: Counter[str]) -> None:
    """Puts strings into all places that take them, and holds what the program makes of it to what it made before."""
    config, whole, taken = CONFIGURATIONS[database], marked(database), 0
    for number, leaf in enumerate(whole):
        # Two that are taken apart may be refused together, such as two names that are the same.
        text = pool[number * stride % len(pool)]
        trial = {**whole, leaf: text}
        # An empty one leaves the choice to the driver, to Nomad or to the image.
        if text and refused(with_values(config, trial)) is None:
            whole, taken = trial, taken + 1
    found = arrived(with_values(config, whole))
    made, before = baseline(database)
    changes = {written(leaf, marked(database)[leaf]): written(leaf, text) for leaf, text in whole.items()}
    after = versions(found)
    tally["examples"] += 1
    tally["arrived"] += taken
    assert found == replaced(made, changes)
    # A gate waits for its volume before each change of its job, and before nothing else.
    for name, (version, job) in before.items():
        later, changed = after[replaced(name, changes)]
        assert (later != version) == (changed != job), name
