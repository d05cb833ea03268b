"""The components of each database of the catalogue, named after it."""

from typing import NamedTuple, TypeVar, cast

import pulumi

from nomad_stateful.components.component_type import database_type
from nomad_stateful.components.database import DatabaseServer
from nomad_stateful.components.database_backup import DatabaseBackup
from nomad_stateful.components.database_group import DatabaseGroup
from nomad_stateful.components.database_metrics import DatabaseMetrics
from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Database

Component = TypeVar("Component", bound=pulumi.ComponentResource)


class DatabaseComponents(NamedTuple):
    """The classes of one database, named after it as their types are."""

    server: type[DatabaseServer]
    backup: type[DatabaseBackup]
    metrics: type[DatabaseMetrics]


def components_of(database: Database) -> DatabaseComponents:
    """Returns the classes of a database."""
    return DatabaseComponents(
        _named(database, "Server", DatabaseServer, f"A single {database.title} server whose rows outlive the job."),
        _named(database, "Backup", DatabaseBackup, f"Dumps of {database.title}, also to S3, and their restore."),
        _named(database, "Metrics", DatabaseMetrics, f"Prometheus exporter beside a {database.title} server."),
    )


def _named(database: Database, role: str, base: type[Component], text: str, **further: object) -> type[Component]:
    name = database_type(database.name, role)
    # A program's own subclass is of the same type.
    own = {"_database": database, "_type_name": name, "__doc__": text, "__module__": __name__, **further}
    return cast("type[Component]", type(name, (base,), own))


def group_of(database: Database) -> type[DatabaseGroup]:
    """Returns the class of a database's group."""
    text = f"Three {database.title} servers that are one group, and the routers to its primary."
    return _named(database, "Group", DatabaseGroup, text, _server=COMPONENTS[database.name].server)


COMPONENTS = {name: components_of(database) for name, database in DATABASES.items()}
GROUPS = {name: group_of(database) for name, database in DATABASES.items() if database.group}
"""The component of each database's group."""
