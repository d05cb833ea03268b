"""The pack as a whole: what a person and Pulumi see of it."""

import pytest
from pulumi_policy import EnforcementLevel, Policy

from policy import docs
from policy.catalogue import RULES
from policy.rule import Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_holds_and_what_to_do(rule: Rule) -> None:
    made: Policy = rule.policy()
    assert rule.sentence.endswith(".")
    assert rule.remedy.endswith(".")
    assert made.description == f"{rule.sentence} Remedy: {rule.remedy}"
    assert made.enforcement_level in (EnforcementLevel.ADVISORY, EnforcementLevel.MANDATORY)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_setting_has_a_type_a_description_and_a_default(rule: Rule) -> None:
    for schema in rule.settings.values():
        assert {"type", "description", "default"} <= set(schema)


def test_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_settings_that_are_given_replace_their_defaults_alone() -> None:
    rule = next(rule for rule in RULES if rule.name == "managed-tag")
    assert rule.config({"key": "mine"}) == {"key": "mine", "value": "true"}


def test_the_page_of_rules_is_up_to_date() -> None:
    assert docs.PAGE.read_text(encoding="utf-8") == docs.render()
