"""A resource as plain values, with UNKNOWN where one is not known yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from pulumi_policy import PolicyResource, ResourceValidationArgs
from pulumi_policy.proxy import UnknownValueError


class Unknown(Enum):
    """The type of UNKNOWN."""

    UNKNOWN = "a value that is not known yet"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that is known only during the update."""


@dataclass(frozen=True)
class Resource:
    """One resource of a stack."""

    type: str
    name: str
    props: Mapping[str, Any] = field(default_factory=dict)
    """Inputs, or in a stack rule outputs."""
    protect: bool = False
    stack: str = ""
    urn: str = ""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """URNs of the resources a property's value comes from, by property (stack rules only)."""


def from_args(args: ResourceValidationArgs) -> Resource:
    """Returns the resource that a resource rule checks."""
    return Resource(args.resource_type, args.name, _props(args.props), args.opts.protect, _stack(args.urn), args.urn)


def from_stack(resource: PolicyResource) -> Resource:
    """Returns one of the resources that a stack rule checks."""
    sources = {key: tuple(found.urn for found in many) for key, many in resource.property_dependencies.items()}
    props, protect = _props(resource.props), resource.opts.protect
    return Resource(resource.resource_type, resource.name, props, protect, _stack(resource.urn), resource.urn, sources)


def has_unknown(value: Any) -> bool:
    """Returns whether any part of the value is not known yet."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN


def shown(value: Any) -> str:
    """Returns the value for a message."""
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stack(urn: str) -> str:
    return urn.removeprefix("urn:pulumi:").split("::")[0]


def _props(props: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(props)
    return plain


def _plain(value: Any) -> Any:
    """Returns the value with UNKNOWN for each part whose reading raises, so that the rest can be checked."""
    if isinstance(value, Mapping):
        return {key: _item(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_item(value, index) for index in range(len(value))]
    return value


def _item(container: Any, key: str | int) -> Any:
    try:
        return _plain(container[key])
    except UnknownValueError:
        return UNKNOWN
