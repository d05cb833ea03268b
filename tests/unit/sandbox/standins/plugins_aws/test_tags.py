from typing import Any

from nomad_stateful.plugin_server.plugin import UNKNOWN
from sandbox.standins.plugins.aws.tags import TagRules, from_aws, retag, to_aws

RULES = TagRules({"team": "db", "env": "dev"})


def test_own_tags_win_over_default_tags() -> None:
    assert RULES.merged({"env": "prod", "Name": "x"}) == {"team": "db", "env": "prod", "Name": "x"}


def test_bookkeeping_of_older_plugins_is_not_a_tag() -> None:
    assert RULES.merged({"__defaults": []}) == {"team": "db", "env": "dev"}


def test_an_unknown_value_stays_unknown() -> None:
    assert RULES.merged({"Name": UNKNOWN})["Name"] is UNKNOWN


def test_tags_of_aws_are_not_shown() -> None:
    actual = {"aws:cloudformation:stack": "s", "Name": "x"}
    assert RULES.all_shown(actual) == {"Name": "x"}


def test_default_tags_are_not_the_resources_own_unless_it_sets_them() -> None:
    actual = {"team": "db", "env": "dev", "Name": "x"}
    assert RULES.own_shown(actual, {"Name": "x"}) == {"Name": "x"}
    assert RULES.own_shown(actual, {"team": "db"}) == {"team": "db", "Name": "x"}


def test_a_default_tag_changed_by_somebody_shows_as_own() -> None:
    assert RULES.own_shown({"team": "web"}, {}) == {"team": "web"}


def test_only_what_differs_is_set_and_removed() -> None:
    said: list[Any] = []
    state = {"tagsAll": {"a": "1", "b": "2", "c": "3"}}
    retag(state, {"tagsAll": {"a": "1", "b": "9", "d": "4"}}, said.append, said.append)
    retag(state, state, said.append, said.append)
    assert said == [["c"], {"b": "9", "d": "4"}]


def test_tags_survive_the_form_aws_takes() -> None:
    assert from_aws(to_aws({"b": "2", "a": "1"})) == {"a": "1", "b": "2"}
    assert from_aws(None) == {}
