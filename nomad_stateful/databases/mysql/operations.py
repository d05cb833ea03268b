"""What commands do with MySQL."""

from __future__ import annotations

import ssl

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.cursors import Cursor

from nomad_stateful.databases.mysql.drill import DRILL
from nomad_stateful.databases.mysql.upgrades import UPGRADES
from nomad_stateful.databases.operations import Operations, UnencryptedError, UnverifiedError

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
