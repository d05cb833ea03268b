"""A job of Nomad's API in the shape of the Job resource's outputs."""

from __future__ import annotations

from typing import Any

from nomad_stateful.nomad.job_rendering import Job
from nomad_stateful.plugin_server.plugin import UNKNOWN, Props

_SECOND = 10**9
UPDATE: dict[str, Any] = {
    "Stagger": 30 * _SECOND,
    "MaxParallel": 1,
    "HealthCheck": "checks",
    "MinHealthyTime": 10 * _SECOND,
    "HealthyDeadline": 300 * _SECOND,
    "AutoRevert": False,
    "Canary": 0,
}
"""What Nomad completes an update block with."""
_UNITS = ((3600 * 10**9, "h"), (60 * 10**9, "m"))
_SUBSECOND = ((10**6, "ms"), (10**3, "µs"))


def go_duration(nanoseconds: int) -> str:
    """A duration as Go prints it: 10m0s, 1.5s, 250ms, 0s."""
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < 0:
        return "-" + go_duration(-nanoseconds)
    if nanoseconds < 10**9:
        for size, unit in _SUBSECOND:
            if nanoseconds >= size:
                return _decimal(nanoseconds, size) + unit
        return f"{nanoseconds}ns"
    text = ""
    for size, unit in _UNITS:
        count, nanoseconds = divmod(nanoseconds, size)
        if count or text:
            text += f"{count}{unit}"
    return f"{text}{_decimal(nanoseconds, 10**9)}s"


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    fraction = str(rest).zfill(len(str(size)) - 1).rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)


def planned_outputs(job: Job) -> Props:
    """What the jobspec says of a job before Nomad has it. What it leaves out is unknown."""
    known = described_outputs(job)
    given = {"type": job.get("Type"), "datacenters": job.get("Datacenters"), "region": job.get("Region")}
    groups = job.get("TaskGroups") or []
    planned = [_planned_group(group, outputs) for group, outputs in zip(groups, known["taskGroups"], strict=True)]
    return known | {name: UNKNOWN for name, value in given.items() if not value} | {"taskGroups": planned}


def described_outputs(job: Job) -> Props:
    """What a job says of itself, with Nomad's defaults."""
    return {
        "name": job["ID"],
        "namespace": job.get("Namespace") or "default",
        "type": job.get("Type") or "service",
        "region": job.get("Region") or "",
        "datacenters": sorted(job.get("Datacenters") or ["*"]),
        "taskGroups": [_task_group(group) for group in job.get("TaskGroups") or []],
    }


def _planned_group(group: dict[str, Any], outputs: Props) -> Props:
    tasks = [task | {"meta": task["meta"] or UNKNOWN} for task in outputs["tasks"]]
    strategies = _updates(UPDATE | _given(group["Update"])) if group.get("Update") else UNKNOWN
    return outputs | {"meta": outputs["meta"] or UNKNOWN, "tasks": tasks, "updateStrategies": strategies}


def _given(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if value is not None}


def registered_outputs(job: Job) -> Props:
    """The outputs that Nomad's record of a job gives."""
    return described_outputs(job) | {
        "status": job.get("Status") or "",
        "statusDescription": job.get("StatusDescription") or "",
        "version": job.get("Version") or 0,
        "submitTime": str(job.get("SubmitTime") or 0),
        "createIndex": job.get("CreateIndex") or 0,
        "modifyIndex": str(job.get("JobModifyIndex") or 0),
        "stop": bool(job.get("Stop")),
        "stable": bool(job.get("Stable")),
        "allAtOnce": bool(job.get("AllAtOnce")),
        "priority": job.get("Priority") or 0,
        "parentId": job.get("ParentID") or "",
        "constraints": [_constraint(item) for item in job.get("Constraints") or []],
        "updateStrategies": _updates(job.get("Update")),
        "periodicConfigs": _periodic(job.get("Periodic")),
    }


def _task_group(group: dict[str, Any]) -> Props:
    count = group.get("Count")
    volumes = [_volume(volume) for volume in (group.get("Volumes") or {}).values()]
    return {
        "name": group.get("Name") or "",
        "count": 1 if count is None else count,
        "meta": group.get("Meta") or {},
        "tasks": [_task(task) for task in group.get("Tasks") or []],
        "volumes": sorted(volumes, key=lambda volume: str(volume["name"])),
        "updateStrategies": _updates(group.get("Update")),
    }


def _task(task: dict[str, Any]) -> Props:
    return {
        "name": task.get("Name") or "",
        "driver": task.get("Driver") or "",
        "meta": task.get("Meta") or {},
        "volumeMounts": [
            {
                "volume": mount.get("Volume") or "",
                "destination": mount.get("Destination") or "",
                "readOnly": bool(mount.get("ReadOnly")),
            }
            for mount in task.get("VolumeMounts") or []
        ],
    }


def _volume(volume: dict[str, Any]) -> Props:
    return {
        "name": volume.get("Name") or "",
        "type": volume.get("Type") or "",
        "readOnly": bool(volume.get("ReadOnly")),
        "source": volume.get("Source") or "",
    }


def _constraint(constraint: dict[str, Any]) -> Props:
    return {
        "ltarget": constraint.get("LTarget") or "",
        "rtarget": constraint.get("RTarget") or "",
        "operand": constraint.get("Operand") or "",
    }


def _updates(update: dict[str, Any] | None) -> list[Props]:
    if not update:
        return []
    return [
        {
            "stagger": go_duration(update.get("Stagger") or 0),
            "maxParallel": update.get("MaxParallel") or 0,
            "healthCheck": update.get("HealthCheck") or "",
            "minHealthyTime": go_duration(update.get("MinHealthyTime") or 0),
            "healthyDeadline": go_duration(update.get("HealthyDeadline") or 0),
            "autoRevert": bool(update.get("AutoRevert")),
            "canary": update.get("Canary") or 0,
        }
    ]


def _periodic(periodic: dict[str, Any] | None) -> list[Props]:
    if not periodic:
        return []
    return [
        {
            "enabled": bool(periodic.get("Enabled")),
            "spec": periodic.get("Spec") or "",
            "specType": periodic.get("SpecType") or "",
            "prohibitOverlap": bool(periodic.get("ProhibitOverlap")),
            "timezone": periodic.get("TimeZone") or "",
        }
    ]
