"""PostgreSQL, as data. What its client and its exporter log in with are Nomad templates.

https://www.postgresql.org/docs/current/libpq-pgservice.html, https://github.com/prometheus-community/postgres_exporter
"""

import re
from collections.abc import Sequence

from nomad_stateful.databases.model import Account, Client, Database, Exporter, Login, Problem
from nomad_stateful.databases.postgres.options import Options
from nomad_stateful.databases.postgres.server import server_task

OLDEST = 16
"""The first major version whose clients can be told how the server has to prove itself."""

_ENV = {"PGSERVICEFILE": "${NOMAD_SECRETS_DIR}/client.conf", "PGSERVICE": "server"}
_TABLE_PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


def _image_problem(image: str) -> Problem | None:
    """Returns why an image is not of a PostgreSQL that the jobs know, as far as its name says."""
    repository, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    if repository.partition("-")[0] in ("mysql", "mariadb"):
        return Problem("it is not an image of PostgreSQL", "set an image of PostgreSQL, such as postgres:18.1")
    major = re.match(r"\d+", tag) if repository == "postgres" else None
    if major is not None and int(major[0]) < OLDEST:
        return Problem(f"it is older than PostgreSQL {OLDEST}", f"set PostgreSQL {OLDEST} or newer")
    return None


def _files_problem(version: Sequence[int], of_files: Sequence[int]) -> Problem | None:
    """Returns why a version cannot read the files of another: each major version has its own."""
    if version[0] == of_files[0]:
        return None
    return Problem(
        "another major version does not read what that wrote",
        "keep {image}; to change, dump with it and restore into a server of the other image on a new volume "
        "(docs/postgres.md#versions)",
    )


def _client(login: Login) -> Client:
    """Returns the service that the client finds by its environment.

    The password goes to no server that asks for it in clear text, nor through one that does not know it: require_auth
    has both sides prove that they do, and channel_binding ties that to the encrypted connection.
    """
    lines = [
        "[server]",
        # With the service's ID another allocation of the server is another text.
        login.at("host={{ .Address }}\nport={{ .Port }}\n# {{ .ID }}"),
        f"user={login.account}",
        f"password={login.password}",
        "require_auth=scram-sha-256",
        *_tls(login, "sslmode={}", "sslrootcert={}"),
        f"channel_binding={'disable' if login.tls == 'off' else 'require'}",
        *("connect_timeout=10", "keepalives_idle=30", "keepalives_interval=10", "keepalives_count=6", ""),
    ]
    return Client(env=_ENV, files={"client.conf": "\n".join(lines)})


def _socket_client(socket: str, account: str, password: str) -> Client:
    folder, _, name = socket.rpartition("/")
    login = (f"host={folder}", f"port={name.rpartition('.')[2]}", f"user={account}", f"password={password}")
    return Client(env=_ENV, files={"client.conf": "\n".join(["[server]", *login, "require_auth=scram-sha-256", ""])})


def _exporter(login: Login, _certificate_name: str) -> Exporter:
    """Returns what postgres_exporter runs with; it verifies the authority alone."""
    options = "&".join([*_tls(login, "sslmode={}", "sslrootcert={}"), "application_name={{ .ID }}"])
    return Exporter(
        env={
            "DATA_SOURCE_URI_FILE": "${NOMAD_SECRETS_DIR}/exporter.uri",
            "DATA_SOURCE_USER": login.account,
            "DATA_SOURCE_PASS_FILE": "${NOMAD_SECRETS_DIR}/exporter.password",
        },
        files={
            "exporter.uri": login.at(f"{{{{ .Address }}}}:{{{{ .Port }}}}/postgres?{options}"),
            "exporter.password": login.password,
        },
        args=["--web.config.file=${NOMAD_SECRETS_DIR}/web.yml", "--web.listen-address=:${NOMAD_PORT_metrics}"],
    )


def _tls(login: Login, mode: str, authority: str) -> list[str]:
    if login.tls == "off":
        return [mode.format("disable")]
    if not login.verifies:
        return [mode.format("require")]
    return [mode.format("verify-ca"), authority.format('{{ env "NOMAD_SECRETS_DIR" }}/ca.pem')]


def _exporter_account(_name: str, password: str) -> str:
    """Returns what \\password in exporter-account.sh reads: the password, twice."""
    return f"{password}\n{password}\n"


POSTGRES = Database(
    name="postgres",
    title="PostgreSQL",
    image="postgres:18.1",
    port=5432,
    uid=999,
    socket="postgres/.s.PGSQL.5432",
    data_dir_argument="--data_directory=",
    arguments=(),
    superuser="postgres",
    reserved_accounts=frozenset({"public", "none"}),
    reserved_prefix="pg_",
    system_databases=frozenset({"postgres", "template0", "template1"}),
    privileges=frozenset(_TABLE_PRIVILEGES),
    options=Options(),
    image_problem=_image_problem,
    files_problem=_files_problem,
    # The least with which every database can be read for a dump.
    backup=Account("backup", "pg_read_all_data"),
    server=server_task,
    socket_client=_socket_client,
    client=_client,
    exporter_image="quay.io/prometheuscommunity/postgres-exporter:v0.19.1",
    exporter=_exporter,
    exporter_account=_exporter_account,
)
