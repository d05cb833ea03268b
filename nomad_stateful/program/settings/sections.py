"""The sections of each database of the catalogue, made of its description: that of the server, and its exporter's."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from nomad_stateful.databases.model import Database
from nomad_stateful.program.settings.database import DatabaseBackup, DatabaseSection, LoggedSection
from nomad_stateful.program.settings.group import ReplicationGroup
from nomad_stateful.program.settings.metrics import DatabaseExporter, Metrics, switch
from nomad_stateful.program.settings.types import Section, in_docker

Fields = dict[str, Any]
_GROUP = (
    "Three servers instead of one, on a set of three volumes in three zones: a lost zone loses nothing else. `{}` "
    "suffices; a single server if left out."
)


def server(database: Database) -> type[DatabaseSection]:
    """Returns the section of a database."""
    base: type[DatabaseSection] = LoggedSection if database.has_logs else DatabaseSection
    backup = create_model(
        "DatabaseBackup", __base__=DatabaseBackup, **_own(DatabaseBackup, job_id=database.job("backup"))
    )
    own: Fields = {
        **_own(
            base,
            job_id=database.job("server"),
            port=database.port,
            image=database.image,
            server_uid=database.uid,
            data_dir=f"/srv/{database.name}",
        ),
        "backup": (backup | None, base.model_fields["backup"]),
        **({"group": (ReplicationGroup | None, Field(None, description=_GROUP))} if database.group else {}),
    }
    made: type[DatabaseSection] = create_model("DatabaseSection", __base__=base, **own)
    made.kind = database
    made.earlier = {
        "taskDriver": in_docker(
            f"{database.title} runs",
            "have the earlier release dump it, and restore the dump into a stack with docker (docs/upgrades.md)",
        )
    }
    return made


def servers(databases: Iterable[Database]) -> Fields:
    """Returns the fields of the databases' sections."""
    return {
        one.name: (
            server(one) | None,
            Field(None, description=f"The {one.title} server and the volume it stores its data on."),
        )
        for one in databases
    }


def metrics(databases: Iterable[Database]) -> type[Metrics]:
    """Returns the section of what is measured, with each database's exporter."""
    fields = {one.name: _exporter(one) for one in databases}
    return create_model("Metrics", __base__=Metrics, **fields)


def _exporter(database: Database) -> Any:
    own = _own(DatabaseExporter, job_id=database.job("metrics"), image=database.exporter_image)
    made = create_model("DatabaseExporter", __base__=DatabaseExporter, **own)
    described = f"The exporter of the stack's {database.title}, where it has one: true, false or a section."
    return switched(made), Field(made(), description=described)


def switched(section: type[Section]) -> Any:
    """Returns the type of a section that true and false stand for as well."""
    return Annotated[section | None, BeforeValidator(switch)]


def _own(base: type[Section], **defaults: Any) -> Fields:
    """Returns fields of a section with other defaults."""
    return {
        name: (
            Annotated[field.annotation, *field.metadata],
            Field(default, description=field.description, json_schema_extra=field.json_schema_extra),
        )
        for name, default in defaults.items()
        for field in [base.model_fields[name]]
    }
