"""Tells whether two parsed jobs are the same to Nomad, whatever they leave to its defaults."""

from __future__ import annotations

from typing import Any

from nomad_stateful.nomad.job_rendering import Job

_SECOND = 1_000_000_000
_MINUTE = 60 * _SECOND

# What Nomad's API client fills in, by the path of the field. A field with its default equals a missing one.
_DEFAULTS: dict[str, Any] = {
    "Namespace": "default",
    "Region": "global",
    "Type": "service",
    "AllAtOnce": False,
    "Stop": False,
    "NodePool": "",
    "ConsulToken": "",
    "VaultToken": "",
    "Priority": 0,
    "TaskGroups.Count": 1,
    "TaskGroups.EphemeralDisk.Sticky": False,
    "TaskGroups.EphemeralDisk.Migrate": False,
    "TaskGroups.EphemeralDisk.SizeMB": 300,
    "TaskGroups.Tasks.Leader": False,
    "TaskGroups.Tasks.User": "",
    "TaskGroups.Tasks.KillTimeout": 5 * _SECOND,
    "TaskGroups.Tasks.ShutdownDelay": 0,
    "TaskGroups.Tasks.LogConfig.MaxFiles": 10,
    "TaskGroups.Tasks.LogConfig.MaxFileSizeMB": 10,
    "TaskGroups.Tasks.LogConfig.Disabled": False,
    "TaskGroups.Tasks.Resources.CPU": 100,
    "TaskGroups.Tasks.Resources.Cores": 0,
    "TaskGroups.Tasks.Resources.MemoryMB": 300,
    "TaskGroups.Tasks.Resources.MemoryMaxMB": 0,
    "TaskGroups.Tasks.Resources.DiskMB": 0,
    "TaskGroups.Tasks.CSIPluginConfig.MountDir": "/csi",
    "TaskGroups.Tasks.CSIPluginConfig.StagePublishBaseDir": "/local/csi",
    "TaskGroups.Tasks.CSIPluginConfig.HealthTimeout": 30 * _SECOND,
    "TaskGroups.Tasks.VolumeMounts.ReadOnly": False,
    "TaskGroups.Tasks.VolumeMounts.PropagationMode": "private",
    "TaskGroups.Tasks.VolumeMounts.SELinuxLabel": "",
    "TaskGroups.Volumes.ReadOnly": False,
    "TaskGroups.Volumes.PerAlloc": False,
    "TaskGroups.Tasks.Templates.ChangeMode": "restart",
    "TaskGroups.Tasks.Templates.ChangeSignal": "",
    "TaskGroups.Tasks.Templates.Splay": 5 * _SECOND,
    "TaskGroups.Tasks.Templates.Perms": "0644",
    "TaskGroups.Tasks.Templates.LeftDelim": "{{",
    "TaskGroups.Tasks.Templates.RightDelim": "}}",
    "TaskGroups.Tasks.Templates.Envvars": False,
    "TaskGroups.Tasks.Templates.VaultGrace": 0,
    "TaskGroups.Tasks.Templates.ErrMissingKey": False,
    "TaskGroups.Tasks.Templates.Once": False,
    "TaskGroups.Update.MaxParallel": 1,
    "TaskGroups.Update.HealthCheck": "checks",
    "TaskGroups.Update.MinHealthyTime": 10 * _SECOND,
    "TaskGroups.Update.HealthyDeadline": 5 * _MINUTE,
    "TaskGroups.Update.ProgressDeadline": 10 * _MINUTE,
    "TaskGroups.Update.AutoRevert": False,
    "TaskGroups.Update.AutoPromote": False,
    "TaskGroups.Update.Canary": 0,
    "TaskGroups.Update.Stagger": 30 * _SECOND,
    "Periodic.Enabled": True,
    "Periodic.SpecType": "cron",
    "Periodic.ProhibitOverlap": False,
    "Periodic.TimeZone": "UTC",
}
_UPDATE = "TaskGroups.Update"
# Blocks whose presence alone says nothing: empty equals missing. Others (a service, a volume) count by being there.
_HOLLOW = {
    *("TaskGroups.EphemeralDisk", "TaskGroups.Update", "TaskGroups.Tasks.LogConfig", "TaskGroups.Tasks.Resources"),
    *("Meta", "TaskGroups.Meta", "TaskGroups.Tasks.Meta", "TaskGroups.Tasks.Env", "TaskGroups.Tasks.Config"),
}


def same_job(first: Job, second: Job) -> bool:
    """Whether Nomad would make the same job of both."""
    return bool(_essence(first, "", _has_own_update(first)) == _essence(second, "", _has_own_update(second)))


def _has_own_update(job: Job) -> bool:
    """Only groups of a service without a job-level update block get the default one."""
    return bool(job.get("Update")) or job.get("Type", "service") != "service"


def _essence(value: Any, path: str, own_update: bool) -> Any:
    """The value without what is missing, empty or default."""
    if isinstance(value, list):
        return [_essence(item, path, own_update) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        inner = _essence(item, where, own_update)
        if inner is None or inner == []:
            continue
        if (own_update and where.startswith(_UPDATE)) or (
            not (inner == {} and where in _HOLLOW) and not _is_default(where, inner)
        ):
            kept[key] = inner
    return _unnamed(kept) if path == "" else kept


def _is_default(path: str, value: Any) -> bool:
    return path in _DEFAULTS and _DEFAULTS[path] == value and type(_DEFAULTS[path]) is type(value)


def _unnamed(job: dict[str, Any]) -> dict[str, Any]:
    """A job's Name defaults to its ID."""
    return {key: value for key, value in job.items() if key != "Name" or value != job.get("ID")}
