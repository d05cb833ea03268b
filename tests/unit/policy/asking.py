"""Asks rules as Pulumi does."""

from collections.abc import Mapping
from typing import Any

from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import unknown_checking_proxy

from policy.catalogue import RULES
from policy.resource import Resource
from policy.rule import ResourceRule, Rule, StackRule


def rule(name: str) -> Rule:
    """The rule of that name."""
    return next(found for found in RULES if found.name == name)


def findings(name: str, *resources: Resource, **config: Any) -> list[str]:
    """What a rule says by itself, about one resource or about a stack."""
    asked = rule(name)
    if isinstance(asked, ResourceRule):
        return [said for resource in resources for said in asked.check(resource, asked.config(config))]
    assert isinstance(asked, StackRule)
    return [said for _, said in asked.check(list(resources), asked.config(config))]


def reported(name: str, *resources: Resource, **config: Any) -> list[str]:
    """What a rule reports to Pulumi about resources as Pulumi hands them over."""
    said: list[str] = []

    def report(message: str, _urn: str | None) -> None:
        said.append(message)

    asked = rule(name).policy()
    if isinstance(asked, StackValidationPolicy):
        asked.validate(StackValidationArgs([_stacked(resource) for resource in resources], config), report)
        return said
    assert isinstance(asked, ResourceValidationPolicy)
    for resource in resources:
        props = unknown_checking_proxy(dict(resource.props))
        urn = _urn(resource)
        options = _options(resource)
        asked.validate(ResourceValidationArgs(resource.type, props, urn, resource.name, options, None, config), report)
    return said


def _stacked(resource: Resource) -> PolicyResource:
    props: Mapping[str, Any] = unknown_checking_proxy(dict(resource.props))
    urn = resource.urn or _urn(resource)
    return PolicyResource(resource.type, props, urn, resource.name, _options(resource), None, None, [], {})


def _options(resource: Resource) -> PolicyResourceOptions:
    return PolicyResourceOptions(resource.protect, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


def _urn(resource: Resource) -> str:
    return f"urn:pulumi:{resource.stack or 'prod'}::nomad-stateful::{resource.type}::{resource.name}"
