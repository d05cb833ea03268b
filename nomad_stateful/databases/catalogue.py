"""The databases that a stack may have."""

from nomad_stateful.databases.model import Database
from nomad_stateful.databases.mysql.database import MYSQL
from nomad_stateful.databases.postgres import POSTGRES

DATABASES: dict[str, Database] = {database.name: database for database in (MYSQL, POSTGRES)}
