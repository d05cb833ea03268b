"""MySQL's server: its arguments and files, and the statements that make its accounts; and what others log in with.

Of the client and the exporter these are Nomad templates.
https://dev.mysql.com/doc/refman/8.4/en/option-files.html, https://github.com/prometheus/mysqld_exporter
"""

from collections.abc import Iterator

from nomad_stateful.databases.model import Client, Exporter, Login
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


def client(login: Login) -> Client:
    """Returns the client's file, and how its scripts have it connect: they take TLS_MYSQL after the file."""
    # Without encryption MySQL wants its public key for the login.
    encrypted = "--ssl-mode=VERIFY_CA" if login.verifies else "--ssl-mode=REQUIRED"
    tls = "--get-server-public-key" if login.tls == "off" else encrypted
    return Client(env={"TLS_MYSQL": tls}, files={"client.cnf": _login_file(login)})


def exporter(login: Login, certificate_name: str) -> Exporter:
    """Returns what mysqld_exporter runs with."""
    # By its address it would know no server: the name is one of its certificate (v0.20.0 or newer).
    name = [f"tls-server-name = {certificate_name}"] if login.verifies else []
    unverified = login.tls != "off" and not login.verifies
    args = [
        "--config.my-cnf=${NOMAD_SECRETS_DIR}/exporter.cnf",
        *("--web.config.file=${NOMAD_SECRETS_DIR}/web.yml", "--web.listen-address=:${NOMAD_PORT_metrics}"),
        # A replica's state would take one privilege more.
        "--no-collect.slave_status",
        *(["--tls.insecure-skip-verify"] if unverified else []),
    ]
    return Exporter(
        env={}, files={"exporter.cnf": _login_file(login, *name)}, args=args, login={"account.cnf": _login_file(login)}
    )


def exporter_account(name: str, password: str) -> str:
    """Returns the statements that make the exporter's account: it sees the statements that run, and can read no row."""
    account = f"'{name}'@'%'"
    return (
        f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{password}';\n"
        f"ALTER USER {account} IDENTIFIED BY '{password}' WITH MAX_USER_CONNECTIONS 5;\n"
        f"GRANT PROCESS ON *.* TO {account};\n"
    )


def _login_file(login: Login, *more: str) -> str:
    authority = ['ssl-ca = {{ env "NOMAD_SECRETS_DIR" }}/ca.pem'] if login.verifies else []
    # With the service's ID another allocation of the server is another text.
    address = login.at("host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}")
    lines = ["[client]", f"user = {login.account}", address, *authority, *more, f"password = {login.password}", ""]
    return "\n".join(lines)
