"""What MySQL's client and its exporter log in with, as Nomad templates.

https://dev.mysql.com/doc/refman/8.4/en/option-files.html, https://github.com/prometheus/mysqld_exporter
"""

from nomad_stateful.databases.model import Client, Exporter, Login


def client(login: Login) -> Client:
    """Returns the client's file, and how its scripts have it connect: they take TLS_MYSQL after the file."""
    # Without encryption MySQL wants its public key for the login.
    encrypted = "--ssl-mode=VERIFY_CA" if login.verifies else "--ssl-mode=REQUIRED"
    tls = "--get-server-public-key" if login.tls == "off" else encrypted
    return Client(env={"TLS_MYSQL": tls}, files={"client.cnf": _file(login)})


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
    return Exporter(env={}, files={"exporter.cnf": _file(login, *name)}, args=args, login={"account.cnf": _file(login)})


def exporter_account(name: str, password: str) -> str:
    """Returns the statements that make the exporter's account: it sees the statements that run, and can read no row."""
    account = f"'{name}'@'%'"
    return (
        f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{password}';\n"
        f"ALTER USER {account} IDENTIFIED BY '{password}' WITH MAX_USER_CONNECTIONS 5;\n"
        f"GRANT PROCESS ON *.* TO {account};\n"
    )


def _file(login: Login, *more: str) -> str:
    authority = ['ssl-ca = {{ env "NOMAD_SECRETS_DIR" }}/ca.pem'] if login.verifies else []
    # With the service's ID another allocation of the server is another text.
    address = login.at("host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}")
    lines = ["[client]", f"user = {login.account}", address, *authority, *more, f"password = {login.password}", ""]
    return "\n".join(lines)
