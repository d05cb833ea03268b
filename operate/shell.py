"""An interactive MySQL client, logged in to wherever the server runs now."""

import os
import shutil

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
    os.execve(client, command, {**os.environ, "MYSQL_PWD": known.password})
