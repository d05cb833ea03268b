"""From settings to the inputs of the components that run programs: consumers, exporters and the failover watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.components.exporter import ExporterService, ExporterTask
from nomad_stateful.program.plan.inputs import THIS_STACK, constraint, own_time, placement, registered_volume, restart
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Consumer, DatabaseSection, Metrics, Settings
from nomad_stateful.program.settings.consumer import Mount
from nomad_stateful.program.settings.metrics import (
    EXPORTER_ACCOUNT,
    DatabaseExporter,
    VolumeExporter,
    database_exporter,
)

if TYPE_CHECKING:
    from nomad_stateful.components.container import ContainerArgs, ContainerService, ContainerVolume
    from nomad_stateful.components.database_metrics import DatabaseMetricsArgs
    from nomad_stateful.components.failover_watch import FailoverWatchArgs
    from nomad_stateful.components.volume_metrics import VolumeMetricsArgs


def container(settings: Settings, consumer: Consumer) -> ContainerArgs:
    """Returns a program on its registered volumes."""
    return {
        "job_id": consumer.name,
        "owner": THIS_STACK,
        "placement": {**placement(settings), "node_pool": consumer.node_pool or settings.placement.node_pool},
        "constraints": [constraint(one) for one in consumer.constraints],
        "count": consumer.count,
        "canaries": consumer.canaries,
        "volumes": [_volume(settings, consumer, mount) for mount in consumer.mounts],
        "task": {
            "driver": consumer.task_driver,
            "image": consumer.image or "",
            "command": consumer.command,
            "args": consumer.args,
            "env": consumer.env,
            "user": consumer.user,
            "kill_signal": consumer.kill_signal or ("" if consumer.task_driver == "docker" else "SIGTERM"),
            "kill_timeout": consumer.kill_timeout,
            "cpu_mhz": consumer.cpu_mhz,
            "memory_mib": consumer.memory_mib,
        },
        "ports": [{"label": port.label, "static": port.static, "to": port.to} for port in consumer.ports],
        "files": [
            {"path": file.destination, "text": file.text, "perms": file.perms, "change_mode": file.change_mode}
            for file in consumer.files
        ],
        "secrets": {name: Later("secret", f"consumers.{consumer.name}.secrets.{name}") for name in consumer.secrets}
        or None,
        "services": _services(consumer),
        "restart": restart(consumer),
        "stop_after_disconnect": own_time(settings.stop_after_disconnect(consumer)),
        "release_timeout_s": consumer.release_timeout_s,
        "timeout_s": consumer.timeout_s,
    }


def _volume(settings: Settings, consumer: Consumer, mount: Mount) -> ContainerVolume:
    volume = settings.volume(mount.volume)
    # Of a set larger than the job only the volumes that its instances have.
    members = volume.members[: consumer.count] if mount.per_alloc else volume.members
    return {
        "name": mount.volume,
        "source": mount.volume,
        "earlier_name": volume.renamed_from,
        "members": [registered_volume(settings, volume.name, member.volume_id) for member in members],
        "access_mode": volume.access_mode,
        "attachment_mode": volume.attachment_mode,
        "read_only": mount.read_only,
        "per_alloc": mount.per_alloc,
        "mount_path": mount.path,
    }


def _services(consumer: Consumer) -> list[ContainerService]:
    service = consumer.service
    if service is None:
        return []
    return [
        {
            "provider": service.provider,
            "port": service.port,
            "check": service.check,
            "check_path": service.check_path if service.check == "http" else "",
            "check_interval": service.check_interval,
            "check_timeout": service.check_timeout,
        }
    ]


def database_metrics(settings: Settings, section: DatabaseSection) -> DatabaseMetricsArgs | None:
    """Returns the exporter of the server, where it is wanted."""
    exporter = database_exporter(settings.metrics, section)
    if settings.metrics is None or exporter is None:
        return None
    return {
        "job_id": exporter.job_id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "server": {
            "service": section.job_id,
            "provider": section.service_provider,
            "tls": section.tls,
            "ca": section.authority,
            "certificate_name": section.tls_certificate.server_name if section.tls_certificate else "",
            "image": section.image,
            "on_every_client": section.replication is not None,
        },
        "account": EXPORTER_ACCOUNT,
        "root_password": Later("root_password"),
        "task": _exporter_task(exporter),
        "service": _exporter_service(settings.metrics, exporter),
        "timeout_s": exporter.timeout_s,
    }


def volume_metrics(settings: Settings) -> VolumeMetricsArgs | None:
    """Returns the exporters of the clients' file systems, where they are wanted."""
    exporter = settings.metrics.volumes if settings.metrics is not None else None
    if settings.metrics is None or exporter is None:
        return None
    return {
        "job_id": exporter.job_id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "task": _exporter_task(exporter),
        "service": _exporter_service(settings.metrics, exporter),
        "timeout_s": exporter.timeout_s,
    }


def _exporter_task(exporter: DatabaseExporter | VolumeExporter) -> ExporterTask:
    return {"image": exporter.image, "cpu_mhz": exporter.cpu_mhz, "memory_mib": exporter.memory_mib}


def _exporter_service(metrics: Metrics, exporter: DatabaseExporter | VolumeExporter) -> ExporterService:
    return {"port": exporter.port, "provider": metrics.service_provider}


def failover_watch(settings: Settings) -> FailoverWatchArgs | None:
    """Returns the watch over all EBS volumes; None where none is set."""
    failover = settings.failover
    if failover is None:
        return None
    watched = [member.volume_id for volume in settings.volumes_of("ebs") for member in volume.members]
    return {
        "job_id": failover.job_id,
        "placement": placement(settings),
        "owner": THIS_STACK,
        "volumes": [Later("volume_id", name, text=name) for name in watched],
        "region": Later("region"),
        "account_id": Later("account_id"),
        "count": failover.count,
        "fence": failover.fence,
        "task": {
            "image": settings.agent_image or "",
            "cpu_mhz": failover.cpu_mhz,
            "memory_mib": failover.memory_mib,
        },
        "timeout_s": failover.timeout_s,
    }
