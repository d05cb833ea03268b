"""What commands do with MySQL."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.cursors import Cursor

from nomad_stateful.databases.mysql import releases
from nomad_stateful.databases.operations import Drill, Operations, UnencryptedError, UnverifiedError
from nomad_stateful.databases.upgrades import Probe, Upgrades

DRILL = Drill(
    script=Path(__file__).with_name("check.sh").read_text(encoding="utf-8"),
    # Neither replicates, nor runs events, nor takes the port of another server on its client.
    quiet=(
        "--event-scheduler=OFF",
        "--loose-skip-replica-start",
        "--loose-skip-slave-start",
        "--loose-group-replication-start-on-boot=OFF",
        "--loose-mysqlx=OFF",
    ),
    own_tables=("`mysql`.", "`nomad_stateful`."),
    dump_ending="sql.gz",
)
UPGRADES = Upgrades(
    version="SELECT VERSION()",
    of_server=releases.of_server,
    wanted=releases.wanted,
    refuse_path=releases.refuse_path,
    option_problems=releases.option_problems,
    content_problems=releases.content_problems,
    tables="SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE table_schema NOT IN "
    "('mysql', 'sys', 'information_schema', 'performance_schema')",
    # The server's own words on its data dictionary and system tables, since 8.0.22.
    upgraded="SELECT data FROM performance_schema.error_log WHERE error_code = 'MY-013381' AND data LIKE '%completed%' "
    "ORDER BY logged DESC LIMIT 1",
    probe=Probe(
        script=Path(__file__).with_name("probe.sh").read_text(encoding="utf-8"),
        version=re.compile(r"Ver (\d+\.\d+\.\d+)"),
        options_file="my.cnf",
        left_out=("--init-file=", "--ssl-", "--datadir=", "--port="),
        errors=("ERROR", "no mysqld"),
    ),
)
# The task's environment names both files: the password does not leave it. Nomad may lose what a container's command has
# said that ends at once.
_CLIENT = """\
MYSQL_PWD=$(cat "$MYSQL_ROOT_PASSWORD_FILE") && export MYSQL_PWD || exit
mysql --user=root --socket="$START_SOCKET" "$@"
status=$?
sleep 0.2
exit "$status"
"""
_HOLDING = (
    # The lock would end with a session that the server thinks idle.
    "SET SESSION wait_timeout = 86400",
    # While it waits for a long query, all other writes wait too; shorter than this client waits.
    "SET SESSION lock_wait_timeout = 20",
    "FLUSH TABLES WITH READ LOCK",
)


def connect(host: str, port: int, user: str, password: str, tls: ssl.SSLContext | None) -> Connection[Cursor]:
    """Logs in. Raises UnverifiedError, UnencryptedError and pymysql's errors."""
    try:
        return pymysql.connect(
            host=host,
            port=port,
            user=user,
            password=password,
            ssl=tls,
            ssl_disabled=tls is None,
            connect_timeout=5,
            read_timeout=30,
        )
    except pymysql.err.OperationalError as error:
        if isinstance(getattr(error, "original_exception", None), ssl.SSLCertVerificationError):
            raise UnverifiedError(error.args[1]) from error
        if error.args[0] == CR.CR_SSL_CONNECTION_ERROR and tls is not None:
            raise UnencryptedError(error.args[1]) from error
        raise


OPERATIONS = Operations(
    connect=connect,
    errors=(pymysql.err.MySQLError,),
    holding=_HOLDING,
    client=_CLIENT,
    upgrades=UPGRADES,
    drill=DRILL,
)
