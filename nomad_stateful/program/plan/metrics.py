"""From settings to what a Prometheus needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.components.exporter import ExporterService, ExporterTask
from nomad_stateful.program.plan.inputs import THIS_STACK, placement
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Metrics, Settings
from nomad_stateful.program.settings.metrics import MYSQL_ACCOUNT, MysqlExporter, VolumeExporter, mysql_exporter

if TYPE_CHECKING:
    from nomad_stateful.components.mysql_metrics import MysqlMetricsArgs
    from nomad_stateful.components.volume_metrics import VolumeMetricsArgs


def mysql_metrics(settings: Settings) -> MysqlMetricsArgs | None:
    """Returns the exporter of the server, where it is wanted."""
    mysql = settings.mysql
    exporter = mysql_exporter(settings.metrics, mysql)
    if settings.metrics is None or mysql is None or exporter is None:
        return None
    return {
        "job_id": exporter.job_id,
        "owner": THIS_STACK,
        "placement": placement(settings),
        "server": {
            "service": mysql.job_id,
            "provider": mysql.service_provider,
            "tls": mysql.tls,
            "ca": mysql.authority,
            "certificate_name": mysql.tls_certificate.server_name if mysql.tls_certificate else "",
            "image": mysql.image,
        },
        "account": MYSQL_ACCOUNT,
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
    }


def _task(exporter: MysqlExporter | VolumeExporter) -> ExporterTask:
    return {"image": exporter.image, "cpu_mhz": exporter.cpu_mhz, "memory_mib": exporter.memory_mib}


def _service(metrics: Metrics, exporter: MysqlExporter | VolumeExporter) -> ExporterService:
    return {"port": exporter.port, "provider": metrics.service_provider}
