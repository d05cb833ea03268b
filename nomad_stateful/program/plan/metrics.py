"""From settings to what a Prometheus needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.components.exporter import ExporterService, ExporterTask
from nomad_stateful.program.plan.inputs import THIS_STACK, placement
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import DatabaseSection, Metrics, Settings
from nomad_stateful.program.settings.metrics import (
    EXPORTER_ACCOUNT,
    DatabaseExporter,
    VolumeExporter,
    database_exporter,
)

if TYPE_CHECKING:
    from nomad_stateful.components.database_metrics import DatabaseMetricsArgs
    from nomad_stateful.components.volume_metrics import VolumeMetricsArgs


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
        "task": _task(exporter),
        "service": _service(settings.metrics, exporter),
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
        "task": _task(exporter),
        "service": _service(settings.metrics, exporter),
        "timeout_s": exporter.timeout_s,
    }


def _task(exporter: DatabaseExporter | VolumeExporter) -> ExporterTask:
    return {"image": exporter.image, "cpu_mhz": exporter.cpu_mhz, "memory_mib": exporter.memory_mib}


def _service(metrics: Metrics, exporter: DatabaseExporter | VolumeExporter) -> ExporterService:
    return {"port": exporter.port, "provider": metrics.service_provider}
