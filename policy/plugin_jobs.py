"""Rules: plugin jobs run only on clients that support them."""

from collections.abc import Iterable, Mapping
from typing import Any

from policy.nomad_job import job_of, tasks
from policy.resource import Resource
from policy.rule import Config, ResourceRule

PRIVILEGED = "${attr.driver.docker.privileged.enabled}"
EQUALITY = frozenset({"", "=", "==", "is"})
MOUNTING_TYPES = frozenset({"node", "monolith"})


def check_privileged(resource: Resource, _config: Config) -> Iterable[str]:
    """Yields plugin tasks without the constraint on privileged containers, which fail on other clients."""
    job = job_of(resource)
    for group, task in tasks(job) if job else ():
        plugin = task.get("CSIPluginConfig") or {}
        if plugin.get("Type") not in MOUNTING_TYPES or task.get("Driver") != "docker":
            continue
        found = [constraint for level in (job, group, task) for constraint in (level or {}).get("Constraints") or ()]
        if not any(_asks_privileged(constraint) for constraint in found):
            what = f"the {plugin['Type']} plugin {plugin.get('ID')} in docker"
            yield f'task "{task["Name"]}" is {what}, with {_shown(found)}'


def _asks_privileged(constraint: Mapping[str, Any]) -> bool:
    is_equality = str(constraint.get("Operand") or "") in EQUALITY
    sides = {constraint.get("LTarget"), constraint.get("RTarget")}
    return is_equality and PRIVILEGED in sides and bool(sides & {"true", "1"})


def _shown(constraints: list[dict[str, Any]]) -> str:
    named = [str(constraint.get("LTarget") or constraint.get("Operand")) for constraint in constraints]
    return f"constraints only on {', '.join(named)}" if named else "no constraint"


RULES = [
    ResourceRule(
        name="plugin-privileged",
        sentence="Node and monolith plugins in docker run only on clients that allow privileged containers.",
        remedy=f'add a constraint to the group: `attribute = "{PRIVILEGED}"`, `value = "true"`.',
        check=check_privileged,
    )
]
