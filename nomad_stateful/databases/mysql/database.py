"""MySQL, as data."""

from nomad_stateful.databases.model import Account, Database, Logs
from nomad_stateful.databases.mysql import archive, group, images, log_options, logins, server
from nomad_stateful.databases.mysql.options import Options

# https://dev.mysql.com/doc/refman/8.4/en/grant.html
_PRIVILEGES = frozenset(
    {
        *("ALTER", "ALTER ROUTINE", "CREATE", "CREATE ROUTINE", "CREATE TEMPORARY TABLES", "CREATE VIEW", "DELETE"),
        *("DROP", "EVENT", "EXECUTE", "GRANT OPTION", "INDEX", "INSERT", "LOCK TABLES", "REFERENCES"),
        *("SELECT", "SHOW VIEW", "TRIGGER", "UPDATE", "USAGE"),
    }
)

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
    image_problem=images.problem,
    files_problem=images.files_problem,
    # The least with which every database can be read for a dump.
    backup=Account("backup", "SELECT, SHOW VIEW, TRIGGER, EVENT"),
    server=server.server_task,
    socket_client=server.socket_client,
    client=logins.client,
    exporter_image="prom/mysqld-exporter:v0.20.0",
    exporter=logins.exporter,
    exporter_account=logins.exporter_account,
    logs=Logs(
        # The least with which a binary log can be closed.
        account=Account("binlogs", "RELOAD"),
        arguments=("--gtid-mode=ON", "--enforce-gtid-consistency=ON"),
        replaced=f"{archive.FOLDER}{archive.UNTIL}",
        option_problem=log_options.problem,
    ),
    group=group.REPLICATION,
)
