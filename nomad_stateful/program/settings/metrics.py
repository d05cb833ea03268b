"""Settings of what a Prometheus needs."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.mysql import Mysql
from nomad_stateful.program.settings.plugin import Plugin
from nomad_stateful.program.settings.types import (
    DAY_S,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    Earlier,
    Identifier,
    PinnedImage,
    Section,
    in_docker,
)

MYSQL_ACCOUNT = "exporter"
HTTP_FLAG = "--http-endpoint"


def _switch(value: Any) -> Any:
    """Returns a section for true, nothing for false, and anything else as it is."""
    return {} if value is True else None if value is False else value


class Exporter(Section):
    """What every exporter has."""

    earlier: ClassVar = {"command": Earlier("the exporter is the program of its image", "remove it")}

    port: int = Field(0, ge=0, le=65535, description="Port on the client; 0 lets Nomad choose one.")
    cpu_mhz: int = Field(50, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(64, ge=32, le=MOST_MEMORY_MIB, description="Memory, in MiB.")


class MysqlExporter(Exporter):
    """mysqld_exporter, in a job of its own."""

    job_id: Identifier = Field("mysql-metrics", description="Id of the exporter's job.")
    image: PinnedImage = Field("prom/mysqld-exporter:v0.20.0", description="Image with a pinned tag or digest.")
    timeout_s: int = Field(300, ge=10, le=DAY_S, description="How long `up` waits for the exporter to run, in seconds.")


class VolumeExporter(Exporter):
    """node_exporter's filesystem collector on every client, in a system job of its own."""

    job_id: Identifier = Field("volume-metrics", description="Id of the exporter's job.")
    image: PinnedImage = Field("prom/node-exporter:v1.9.1", description="Image with a pinned tag or digest.")


class Metrics(Section):
    """What is measured, and where Prometheus finds it."""

    earlier: ClassVar = {"taskDriver": in_docker("the exporters run", "remove it")}

    drivers: bool = Field(
        True,
        description="Have the EBS drivers serve their own metrics. To switch it restarts the plugins, not their users.",
    )
    mysql: Annotated[MysqlExporter | None, BeforeValidator(_switch)] = Field(
        MysqlExporter(),
        description="mysqld_exporter for the stack's MySQL, where it has one: true, false or a section.",
    )
    volumes: Annotated[VolumeExporter | None, BeforeValidator(_switch)] = Field(
        VolumeExporter(),
        description="node_exporter on every client, for bytes and inodes of each mounted volume: true, false (where "
        "the clients have a node_exporter of their own) or a section.",
    )
    task_driver: Literal["docker"] = Field("docker", description="How Nomad runs the exporters: in docker alone.")
    service_provider: Literal["nomad", "consul"] = Field(
        "nomad", description="Where the services of the exporters and drivers are registered."
    )


Switched = Annotated[Metrics | None, BeforeValidator(_switch)]


def mysql_exporter(metrics: Metrics | None, mysql: Mysql | None) -> MysqlExporter | None:
    """Returns MySQL's exporter; None where there is no MySQL, or it is not wanted."""
    return metrics.mysql if metrics is not None and mysql is not None else None


def serves(metrics: Metrics | None, plugin: Plugin) -> bool:
    """Returns whether a plugin's driver is told to serve its metrics."""
    return metrics is not None and metrics.drivers and plugin.known.metrics and not plugin.existing


def check_metrics(metrics: Metrics | None, mysql: Mysql | None, plugins: list[Plugin]) -> None:
    """Nothing else has the exporter's account, or decides where a driver serves its metrics."""
    if mysql is not None and mysql_exporter(metrics, mysql) is not None:
        given = mysql.tls_certificate
        if given is not None and mysql.authority and not given.server_name:
            raise Refusal(
                "mysql.tlsCertificate.certificate",
                "without a subjectAltName",
                "with tlsCertificate.ca the exporter of metrics.mysql verifies the server, by a name in there",
                "have it issued with one, or set metrics.mysql to false",
            )
        for user in mysql.users:
            if user.name == MYSQL_ACCOUNT:
                raise Refusal(
                    f"mysql.users.{user.name}.name",
                    user.name,
                    "with metrics.mysql this is the account of MySQL's exporter",
                    "rename it, or set metrics.mysql to false",
                )
    for plugin in plugins:
        own = [one for one in plugin.extra_args if one.partition("=")[0] == HTTP_FLAG]
        if own and serves(metrics, plugin):
            raise Refusal(
                f"plugins.{plugin.id}.extraArgs",
                own[0],
                "with metrics.drivers the program decides where the driver serves its metrics",
                "remove it, or set metrics.drivers to false",
            )
