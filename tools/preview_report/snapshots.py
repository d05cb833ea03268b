"""What a change does to snapshots on schedule: retention that is shortened, and schedules that end."""

from collections.abc import Iterator
from typing import Any

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.resource_types import EC2_TAG, LIFECYCLE_POLICY
from tools.preview_report.document import Preview, State, Step

_DAYS = {"DAYS": 1, "WEEKS": 7, "MONTHS": 30, "YEARS": 365}


def warnings(preview: Preview) -> Iterator[str]:
    """Yields a sentence for each schedule that ends, and for each that would keep less than it does."""
    for step in preview.steps:
        if step.type == LIFECYCLE_POLICY and step.old is not None:
            yield from _of_step(step, _schedules(step.old), _schedules(step.new))
        if step.type == EC2_TAG and step.old is not None and step.old.inputs.get("key") == SNAPSHOTS_TAG:
            yield from _of_tag(step, str(step.old.inputs.get("resourceId")))


def _of_step(step: Step, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    if step.operation == "delete":
        yield f"`{step.name}` is deleted: no more snapshots are taken. Those that exist stay; nobody deletes them."
    elif step.operation in ("replace", "create-replacement"):
        yield f"`{step.name}` is replaced: what it took stays, and nobody deletes it."
    elif step.operation == "update":
        if _state(step.old) == "ENABLED" and _state(step.new) == "DISABLED":
            yield f"`{step.name}` is disabled: no more snapshots are taken."
        for name, before in old.items():
            if name not in new:
                yield f"`{step.name}`: schedule {name} ends. What it took stays, and nobody deletes it."
            else:
                yield from (f"`{step.name}`: schedule {name} {said}" for said in _shortened(before, new[name]))


def _of_tag(step: Step, volume_id: str) -> Iterator[str]:
    if step.operation in ("delete", "replace", "create-replacement"):
        verb = "deleted" if step.operation == "delete" else "given to another volume"
        yield f"`{step.name}` is {verb}: no more snapshots of {volume_id} are taken. Those that exist stay."


def _shortened(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    had, has = old.get("retainRule") or {}, new.get("retainRule") or {}
    if (had.get("count") or 0) > (has.get("count") or 0) > 0:
        kept, less = had["count"], had["count"] - has["count"]
        yield f"keeps {has['count']} snapshots instead of {kept}: {less} are deleted with the next one."
    if _days(had) > _days(has) > 0:
        yield f"keeps snapshots for {_days(has)} days instead of {_days(had)}; those that exist keep their day."
    copied, copies = _copies(old), _copies(new)
    for region, rule in copied.items():
        if region not in copies:
            yield f"no longer copies to {region}. The copies that exist stay; nobody deletes them."
        elif _days(rule) > _days(copies[region]) > 0:
            yield f"keeps copies in {region} for {_days(copies[region])} days instead of {_days(rule)}."


def _schedules(state: State | None) -> dict[str, Any]:
    details = state.inputs.get("policyDetails") if state else None
    schedules = details.get("schedules") if isinstance(details, dict) else None
    return {str(one.get("name")): one for one in schedules or [] if isinstance(one, dict)}


def _copies(schedule: dict[str, Any]) -> dict[str, Any]:
    rules = schedule.get("crossRegionCopyRules") or []
    return {str(rule.get("target")): rule.get("retainRule") or {} for rule in rules}


def _days(rule: dict[str, Any]) -> int:
    return int(rule.get("interval") or 0) * _DAYS.get(str(rule.get("intervalUnit")), 0)


def _state(state: State | None) -> str:
    return str(state.inputs.get("state") or "ENABLED") if state else ""
