"""Rules, and their form for Pulumi."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from policy.resource import Resource, from_args, from_stack

Config = Mapping[str, Any]
ResourceCheck = Callable[[Resource, Config], Iterable[str]]
"""Yields what is wrong with a resource, with the value."""
StackCheck = Callable[[list[Resource], Config], Iterable[tuple[Resource, str]]]
"""Yields what is wrong in a stack, and with which resource."""


def strings(description: str, default: list[str]) -> dict[str, Any]:
    """Returns the schema of a setting that is a list of strings."""
    return {"type": "array", "items": {"type": "string"}, "description": description, "default": default}


@dataclass(frozen=True)
class Rule(ABC):
    """A rule and its description."""

    name: str
    sentence: str
    """What the rule requires."""
    remedy: str
    level: EnforcementLevel = EnforcementLevel.MANDATORY
    settings: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """JSON schema by setting, each with its default."""

    @abstractmethod
    def policy(self) -> Policy:
        """Returns the rule in Pulumi's form."""

    def config(self, given: Config) -> Config:
        """Returns the settings, with defaults."""
        return {**{key: schema["default"] for key, schema in self.settings.items()}, **given}

    def _described(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": f"{self.sentence} Remedy: {self.remedy}",
            "remediation_steps": self.remedy,
            "enforcement_level": self.level,
            "config_schema": PolicyConfigSchema(dict(self.settings)) if self.settings else None,
        }


@dataclass(frozen=True)
class ResourceRule(Rule):
    """A rule about a single resource, checked before the resource is changed."""

    check: ResourceCheck = lambda _resource, _config: ()

    def policy(self) -> Policy:
        """Returns a validation of each resource."""

        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            resource = from_args(args)
            for finding in self.check(resource, self.config(args.get_config())):
                report(f"{resource.name}: {finding}", None)

        return ResourceValidationPolicy(validate=validate, **self._described())


@dataclass(frozen=True)
class StackRule(Rule):
    """A rule about several resources, checked when all of them are known."""

    check: StackCheck = lambda _resources, _config: ()

    def policy(self) -> Policy:
        """Returns a validation of the stack."""

        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            resources = [from_stack(resource) for resource in args.resources]
            for resource, finding in self.check(resources, self.config(args.get_config())):
                report(f"{resource.name}: {finding}", resource.urn)

        return StackValidationPolicy(validate=validate, **self._described())
