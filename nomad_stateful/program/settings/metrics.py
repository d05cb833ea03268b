"""Settings of what a Prometheus needs."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from nomad_stateful.program.settings.database import DatabaseSection
from nomad_stateful.program.settings.errors import Refusal
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

EXPORTER_ACCOUNT = "exporter"
HTTP_FLAG = "--http-endpoint"


def switch(value: Any) -> Any:
    """Returns a section for true, nothing for false, and anything else as it is."""
    return {} if value is True else None if value is False else value


class Exporter(Section):
    """What every exporter has."""

    earlier: ClassVar = {"command": Earlier("the exporter is the program of its image", "remove it")}

    port: int = Field(0, ge=0, le=65535, description="Port on the client; 0 lets Nomad choose one.")
    cpu_mhz: int = Field(50, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(64, ge=32, le=MOST_MEMORY_MIB, description="Memory, in MiB.")
    timeout_s: int = Field(300, ge=10, le=DAY_S, description="How long `up` waits for the exporter to run, in seconds.")


class DatabaseExporter(Exporter):
    """A database's exporter, in a job of its own; sections.py makes that of each database of it."""

    job_id: Identifier = Field("metrics", description="Id of the exporter's job.")
    image: PinnedImage = Field("", description="Image with a pinned tag or digest.")


class VolumeExporter(Exporter):
    """node_exporter's filesystem collector on every client, in a system job of its own."""

    job_id: Identifier = Field("volume-metrics", description="Id of the exporter's job.")
    image: PinnedImage = Field("prom/node-exporter:v1.9.1", description="Image with a pinned tag or digest.")


class Metrics(Section):
    """What is measured, and where Prometheus finds it."""

    earlier: ClassVar = {"taskDriver": in_docker("the exporters run", "remove it")}

    drivers: bool = Field(
        True,
        description="Have the EBS drivers serve their own metrics. Changing it restarts the plugins, not their "
        "consumers.",
    )
    volumes: Annotated[VolumeExporter | None, BeforeValidator(switch)] = Field(
        VolumeExporter(),
        description="node_exporter on every client, for bytes and inodes of each mounted volume: true, false (where "
        "the clients have a node_exporter of their own) or a section.",
    )
    task_driver: Literal["docker"] = Field("docker", description="Nomad's task driver: only docker.")
    service_provider: Literal["nomad", "consul"] = Field(
        "nomad", description="Service registry of the exporters and drivers: nomad or consul."
    )


def database_exporter(metrics: Metrics | None, section: DatabaseSection | None) -> DatabaseExporter | None:
    """Returns the database's exporter; None where there is no database, or it is switched off."""
    if metrics is None or section is None:
        return None
    found: DatabaseExporter | None = getattr(metrics, section.kind.name)
    return found


def serves(metrics: Metrics | None, plugin: Plugin) -> bool:
    """Returns whether a plugin's driver is told to serve its metrics."""
    return metrics is not None and metrics.drivers and plugin.known.metrics and not plugin.existing


def check_metrics(metrics: Metrics | None, section: DatabaseSection | None, plugins: list[Plugin]) -> None:
    """Nothing else has the exporter's account, or decides where a driver serves its metrics."""
    if section is not None and database_exporter(metrics, section) is not None:
        _check_measured(section, section.kind.name)
    for plugin in plugins:
        own = [one for one in plugin.extra_args if one.partition("=")[0] == HTTP_FLAG]
        if own and serves(metrics, plugin):
            rule = "with metrics.drivers the program decides where the driver serves its metrics"
            raise Refusal(f"plugins.{plugin.id}.extraArgs", own[0], rule, "remove it, or set metrics.drivers to false")


def _check_measured(section: DatabaseSection, name: str) -> None:
    given = section.tls_certificate
    if given is not None and section.authority and not given.server_name:
        rule = f"with tlsCertificate.ca the exporter of metrics.{name} verifies the server, by a name in there"
        remedy = f"have it issued with one, or set metrics.{name} to false"
        raise Refusal(f"{name}.tlsCertificate.certificate", "without a subjectAltName", rule, remedy)
    for user in section.users:
        if user.name == EXPORTER_ACCOUNT:
            rule = f"with metrics.{name} this is the account of {section.kind.title}'s exporter"
            remedy = f"rename it, or set metrics.{name} to false"
            raise Refusal(f"{name}.users.{user.name}.name", user.name, rule, remedy)
