"""MySQL's server: its arguments and files, and the statements that make its accounts."""

from collections.abc import Iterator

from nomad_stateful.databases.model import Client
from nomad_stateful.databases.mysql import group
from nomad_stateful.databases.server import ServerSettings, ServerTask

LOGIN = "client.cnf"
_SECRETS = "${NOMAD_SECRETS_DIR}"


def socket_client(socket: str, account: str, password: str) -> Client:
    """Returns what the client logs in with by the server's socket, where what is said needs no encryption."""
    lines = ["[client]", f"user = {account}", "protocol = socket", f"socket = {socket}", f"password = {password}", ""]
    return Client(env={"TLS_MYSQL": "--ssl-mode=DISABLED"}, files={LOGIN: "\n".join(lines)})


def server_task(given: ServerSettings) -> ServerTask:
    """Returns what the server runs with."""
    password = given.item("root_password")
    options = [f"{name} = {value}\n" for name, value in sorted(given.config.items())]
    if given.member is not None:
        options = [*(f"{line}\n" for line in group.option_lines(given.member, verified=given.ca)), *options]
    # Both of the image's accounts of root: by the socket it is root@localhost. Not logged: it would be a transaction of
    # every start. The accounts' are, since later transactions need their databases.
    set_password = [
        f"ALTER USER IF EXISTS 'root'@'{host}' IDENTIFIED BY '{password}';\n" for host in ("%", "localhost")
    ]
    return ServerTask(
        args=[
            # The server takes it only before all other options.
            *(["--defaults-extra-file=${NOMAD_TASK_DIR}/my.cnf"] if options else []),
            *given.args,
            *(["--tls-version="] if given.tls == "off" else []),
            *(["--require-secure-transport=ON"] if given.tls == "required" else []),
            "--port=${NOMAD_PORT_db}",
        ],
        certificate_args=[
            *(f"--ssl-cert={_SECRETS}/server-cert.pem", f"--ssl-key={_SECRETS}/server-key.pem"),
            *([f"--ssl-ca={_SECRETS}/ca.pem"] if given.ca else []),
        ],
        env={"MYSQL_ROOT_PASSWORD_FILE": f"{_SECRETS}/root-password"},
        files={"my.cnf": "".join(["[mysqld]\n", *options])} if options else {},
        secrets={
            # The image reads the password once, when the data directory is made; a later one (a volume restored, or
            # kept by a destroy that stopped) is set by the init file at each later start.
            "root-password": password,
            "root-password.sql": "".join(["SET sql_log_bin = 0;\n", *set_password]),
        },
        accounts={"accounts.sql": "".join(f"{statement}\n" for statement in _accounts(given))},
    )


def _accounts(given: ServerSettings) -> Iterator[str]:
    for name in given.databases:
        yield f"CREATE DATABASE IF NOT EXISTS `{name}`;"
    for one in given.accounts:
        password = given.item(f"password_{one.name}")
        # In a grant an underscore stands for any letter.
        database = "`{}`".format(one.database.replace("_", "\\_")) if one.database else "*"
        yield f"CREATE USER IF NOT EXISTS '{one.name}'@'%' IDENTIFIED BY '{password}';"
        yield f"ALTER USER '{one.name}'@'%' IDENTIFIED BY '{password}';"
        yield f"GRANT {one.privileges} ON {database}.* TO '{one.name}'@'%';"
