"""From settings to what a Prometheus needs."""

from nomad_stateful.components.exporter import ExporterService, ExporterTask
from nomad_stateful.components.mysql import MysqlServer
from nomad_stateful.components.mysql_metrics import MysqlMetricsArgs
from nomad_stateful.components.volume_metrics import VolumeMetricsArgs
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Metrics, Mysql, Settings
from nomad_stateful.program.settings.metrics import MYSQL_ACCOUNT, MysqlExporter, VolumeExporter, mysql_exporter
from nomad_stateful.program.wiring.jobs import owner, placement


def mysql_metrics(
    settings: Settings, environment: Environment, mysql: Mysql, server: MysqlServer
) -> list[MysqlMetricsArgs]:
    """Returns the exporter of the server, where it is wanted."""
    exporter = mysql_exporter(settings.metrics, mysql)
    if settings.metrics is None or exporter is None:
        return []
    return [
        {
            "job_id": exporter.job_id,
            "owner": owner(environment),
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
            "root_password": server.password,
            "task": _task(exporter),
            "service": _service(settings.metrics, exporter),
            "timeout_s": exporter.timeout_s,
        }
    ]


def volume_metrics(settings: Settings, environment: Environment) -> list[VolumeMetricsArgs]:
    """Returns the exporters of the clients' file systems, where they are wanted."""
    exporter = settings.metrics.volumes if settings.metrics is not None else None
    if settings.metrics is None or exporter is None:
        return []
    return [
        {
            "job_id": exporter.job_id,
            "owner": owner(environment),
            "placement": placement(settings),
            "task": _task(exporter),
            "service": _service(settings.metrics, exporter),
        }
    ]


def _task(exporter: MysqlExporter | VolumeExporter) -> ExporterTask:
    return {"image": exporter.image, "cpu_mhz": exporter.cpu_mhz, "memory_mib": exporter.memory_mib}


def _service(metrics: Metrics, exporter: MysqlExporter | VolumeExporter) -> ExporterService:
    return {"port": exporter.port, "provider": metrics.service_provider}
