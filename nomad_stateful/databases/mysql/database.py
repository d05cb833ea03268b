"""MySQL, as data."""

from collections.abc import Sequence

from nomad_stateful.databases.model import Account, Database, Logs, Problem
from nomad_stateful.databases.mysql import archive, group, server
from nomad_stateful.databases.mysql.options import Options, point_in_time_problem

_LONG_TERM = ((8, 4), (9, 7))
"""Of these series MySQL takes an older patch for the files of a newer one; of no other."""

# https://dev.mysql.com/doc/refman/8.4/en/grant.html
_PRIVILEGES = frozenset(
    {
        *("ALTER", "ALTER ROUTINE", "CREATE", "CREATE ROUTINE", "CREATE TEMPORARY TABLES", "CREATE VIEW", "DELETE"),
        *("DROP", "EVENT", "EXECUTE", "GRANT OPTION", "INDEX", "INSERT", "LOCK TABLES", "REFERENCES"),
        *("SELECT", "SHOW VIEW", "TRIGGER", "UPDATE", "USAGE"),
    }
)


def _image_problem(image: str) -> Problem | None:
    """Returns why an image is not MySQL's: the last part of its repository is mariadb, or such as mariadb-galera."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    if name.partition("-")[0] != "mariadb":
        return None
    return Problem(
        "MySQL does not read MariaDB's files, and the jobs run MySQL's programs",
        "set an image of MySQL; a server of MariaDB is dumped by itself, and restored into MySQL on a new volume "
        "(docs/consumers.md#restore)",
    )


def _files_problem(version: Sequence[int], of_files: Sequence[int]) -> Problem | None:
    """Returns why a version cannot read the files of another: it is too old."""
    if not _is_older(version, of_files):
        return None
    return Problem(
        "an older one cannot read what that wrote",
        "keep {image} or a newer one; to go back, dump with it and restore into a server of the older image on a new "
        "volume",
    )


def _is_older(version: Sequence[int], of_files: Sequence[int]) -> bool:
    if min(len(version), len(of_files)) < 2:
        return False
    if tuple(version[:2]) != tuple(of_files[:2]):
        return tuple(version[:2]) < tuple(of_files[:2])
    whole = len(version) == len(of_files) == 3
    return whole and tuple(version) < tuple(of_files) and tuple(of_files[:2]) not in _LONG_TERM


MYSQL = Database(
    name="mysql",
    title="MySQL",
    image="mysql:8.4.6",
    port=3306,
    uid=999,
    socket="mysql/mysql.sock",
    data_dir_argument="--datadir=",
    # Checks connect without logging in; with name resolution on, MySQL would block their host for that.
    arguments=("--skip-name-resolve",),
    superuser="root",
    reserved_accounts=frozenset({"mysql"}),
    reserved_prefix="",
    system_databases=frozenset({"mysql", "sys", "information_schema", "performance_schema"}),
    privileges=_PRIVILEGES,
    options=Options(),
    image_problem=_image_problem,
    files_problem=_files_problem,
    # The least with which every database can be read for a dump.
    backup=Account("backup", "SELECT, SHOW VIEW, TRIGGER, EVENT"),
    server=server.server_task,
    socket_client=server.socket_client,
    client=server.client,
    exporter_image="prom/mysqld-exporter:v0.20.0",
    exporter=server.exporter,
    exporter_account=server.exporter_account,
    logs=Logs(
        # The least with which a binary log can be closed.
        account=Account("binlogs", "RELOAD"),
        arguments=("--gtid-mode=ON", "--enforce-gtid-consistency=ON"),
        replaced=f"{archive.FOLDER}{archive.UNTIL}",
        option_problem=point_in_time_problem,
    ),
    group=group.REPLICATION,
)
