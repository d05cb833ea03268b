"""What the stack's own state says: its resources, and the zones that its volumes stay in."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pulumi

from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.preflight.stored_volumes import zone_asked_for
from nomad_stateful.program.settings import Problem, SettingsError
from nomad_stateful.resource_types import NOMAD_CSI_VOLUME, VOLUME_GUARD

_READ = "pulumi:pulumi:readStackResourceOutputs"


def name() -> str:
    """Returns PROJECT/STACK, by which what the stack makes in AWS is tagged."""
    return f"{pulumi.get_project()}/{pulumi.get_stack()}"


def full_name() -> str:
    """Returns the stack's name, as it stands in its claims."""
    return f"{pulumi.get_organization()}/{name()}"


@cache
def resources(prefetch: Prefetch) -> dict[str, dict[str, Any]]:
    """Returns type and outputs by URN of what the last run left in the stack, read once. Raises SettingsError."""
    try:
        found: dict[str, dict[str, Any]] = prefetch.call(_READ, {"stackName": _stack_name()}).result()["outputs"]
    except CallError as error:
        rule = f"which volumes the stack has cannot be read: {error}"
        raise SettingsError([Problem("the stack's state", "not usable", rule, "fix the cause")]) from None
    return found


def volume_zones(prefetch: Prefetch) -> dict[str, str]:
    """Returns the zone of each volume in the state, by the volume's id. Raises SettingsError."""
    known = [one for one in resources(prefetch).values() if one.get("outputs")]
    # Where a volume has both, its guard knows: it is made first, and remembers.
    return dict([*_made_by_driver(known), *_guarded(known)])


def _stack_name() -> str:
    """Returns the stack's name as the backend knows it: one without organizations may know the plain name only."""
    return pulumi.get_stack() if pulumi.get_organization() == "organization" else full_name()


def _guarded(known: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in known:
        outputs = one["outputs"]
        if one["type"] == VOLUME_GUARD and outputs.get("zone"):
            yield str(outputs["volumeName"]), str(outputs["zone"])


def _made_by_driver(known: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in known:
        if one["type"] == NOMAD_CSI_VOLUME and (zone := zone_asked_for(one["outputs"])):
            yield str(one["outputs"]["volumeId"]), zone
