"""What commands do with PostgreSQL."""

import re
import socket
import ssl
from pathlib import Path
from typing import Any

import pg8000.dbapi
import pg8000.exceptions
import scramp

from nomad_stateful.databases.operations import Drill, Operations, UnencryptedError, UnverifiedError
from nomad_stateful.databases.upgrades import Probe, UpgradeRefusedError, Upgrades, Version

_DONE, _SCRAM, _CONTINUES, _PROVEN = 0, 10, 11, 12
_BOUND = b"SCRAM-SHA-256-PLUS"
_TIMEOUT_S = 30
# SSLRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html
_ASKS_FOR_TLS = (8).to_bytes(4) + (80877103).to_bytes(4)

# The task's environment names both files: the password does not leave it. Nomad may lose what a container's command has
# said that ends at once.
_CLIENT = """\
PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") && export PGPASSWORD || exit
export PGDATABASE=postgres
psql --username=postgres --host="${START_SOCKET%/*}" "$@"
status=$?
sleep 0.2
exit "$status"
"""
_PROBE = """\
#!/bin/sh
# Tries this image's server: its version, and the options in the arguments, without a data directory.
set -u
server=$(command -v postgres) || { echo "no postgres in this image"; exit 1; }
"$server" --version
[ "$OPTIONS" = skip ] || "$server" -C max_connections "$@" --data_directory=/tmp 2>&1 || exit 1
echo "probe: done"
"""


class _Session(pg8000.dbapi.Connection):  # type: ignore[misc]
    """A session with a server that proves to know the password, which is not sent to it.

    Over TLS the proof is tied to the connection: nobody in between can pass it on.
    """

    proven = False

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:  # noqa: N802 - the library's name
        code = int.from_bytes(data[:4])
        if code not in (_DONE, _SCRAM, _CONTINUES, _PROVEN) or (code == _DONE and not self.proven):
            raise UnverifiedError("it does not prove by SCRAM-SHA-256 that it knows the password")
        if code == _SCRAM and isinstance(self._usock, ssl.SSLSocket) and _BOUND not in data:
            raise UnverifiedError("it does not tie its proof to the encrypted connection")
        try:
            super().handle_AUTHENTICATION_REQUEST(data, context)
        except scramp.ScramException as error:
            raise UnverifiedError(f"it does not prove that it knows the password: {error}") from error
        self.proven = self.proven or code == _PROVEN


def connect(host: str, port: int, user: str, password: str, tls: ssl.SSLContext | None) -> Any:
    """Logs in to the database postgres. Raises UnverifiedError, UnencryptedError, pg8000's errors and OSError."""
    server = socket.create_connection((host, port), timeout=5)
    try:
        if tls is not None:
            server = _encrypted(server, tls)
        server.settimeout(_TIMEOUT_S)
        session = _Session(user, password=password, database="postgres", sock=server, ssl_context=False)
        if not session.proven:
            raise UnverifiedError("it does not prove by SCRAM-SHA-256 that it knows the password")
        return session
    except BaseException:
        server.close()
        raise


def _encrypted(server: socket.socket, tls: ssl.SSLContext) -> ssl.SSLSocket:
    server.sendall(_ASKS_FOR_TLS)
    answer = server.recv(1)
    if answer == b"N":
        raise UnencryptedError("the server does not support TLS")
    if answer != b"S":
        raise pg8000.exceptions.InterfaceError("the server closed the connection")
    try:
        return tls.wrap_socket(server)
    except ssl.SSLCertVerificationError as error:
        raise UnverifiedError(error.verify_message) from error


def _of_server(said: str) -> Version:
    found = re.match(r"\d+\.\d+", said)
    version = Version.parse(found[0], 2) if found else None
    if version is None:
        raise UpgradeRefusedError(f"the server says version {said}, which is no release of PostgreSQL")
    return version


def _wanted(text: str) -> Version:
    version = Version.parse(text, 2)
    if version is None:
        raise UpgradeRefusedError(f"VERSION is {text}: it must be a whole version, such as 18.1")
    return version


def _refuse_path(before: Version, after: Version) -> None:
    if after[0] != before[0]:
        raise UpgradeRefusedError(
            f"VERSION is {after}: the server runs {before}, and each major version has files of its own. To go to "
            f"{after[0]}, dump, and restore into a server of {after} on a new volume (docs/postgres.md)"
        )
    if after < before:
        raise UpgradeRefusedError(
            f"VERSION is {after}: the server runs {before}. Within {before[0]} an older one reads its files: set "
            "postgres.image, and run `pulumi up`"
        )


OPERATIONS = Operations(
    connect=connect,
    errors=(pg8000.exceptions.Error, OSError),
    # It has no way to; a snapshot is of one moment, as a crash is.
    holding=(),
    client=_CLIENT,
    upgrades=Upgrades(
        version="SHOW server_version",
        of_server=_of_server,
        wanted=_wanted,
        refuse_path=_refuse_path,
        option_problems=lambda _section, _version: [],
        content_problems=lambda _section, _version, _names: [],
        tables="SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1')",
        upgraded="",
        probe=Probe(
            script=_PROBE,
            version=re.compile(r"\(PostgreSQL\) (\d+\.\d+)"),
            options_file="postgresql.conf",
            left_out=("--data_directory=", "--ssl", "--hba_file=", "--unix_socket_directories=", "--port="),
            errors=("FATAL", "ERROR", "no postgres"),
        ),
    ),
    drill=Drill(
        script=Path(__file__).with_name("check.sh").read_text(encoding="utf-8"),
        # Neither replicates nor archives, nor has an extension's worker, which may run jobs.
        quiet=(
            *("--autovacuum=off", "--archive_mode=off", "--max_worker_processes=0"),
            *("--max_logical_replication_workers=0", "--max_parallel_workers=0"),
        ),
        own_tables=("pg_catalog.", "postgres.nomad_stateful."),
        dump_ending="tar",
    ),
)
