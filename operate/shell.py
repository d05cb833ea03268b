"""An interactive MySQL client, logged in to wherever the server runs now."""

import os
import shutil
import subprocess

from operate import stack
from operate.cluster import Cluster, connect


def mysql(arguments: list[str]) -> None:
    """Becomes the `mysql` or `mariadb` client; the password goes through its environment, not its command line."""
    client = shutil.which("mysql") or shutil.which("mariadb")
    if client is None:
        raise RuntimeError("there is no mysql or mariadb client on PATH: install Debian's mariadb-client-core")
    known = stack.mysql_outputs()
    at = Cluster(connect(), known.job, known.namespace, group="mysql", port_label="db").endpoint(timeout_s=30)
    command = [client, f"--host={at.host}", f"--port={at.port}", f"--user={known.user}", "--protocol=tcp", *arguments]
    # MariaDB's client encrypts only when it is told to; MySQL's tries it by itself.
    if known.tls == "required" and _is_mariadb(client):
        command.insert(1, "--ssl")
    os.execve(client, command, {**os.environ, "MYSQL_PWD": known.password})


def _is_mariadb(client: str) -> bool:
    version = subprocess.run([client, "--version"], capture_output=True, text=True, check=False).stdout
    return "mariadb" in version.lower()
