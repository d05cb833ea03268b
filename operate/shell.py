"""An interactive MySQL client, logged in to wherever the server runs now."""

import os
import shutil
import subprocess
import sys
import tempfile

from operate import stack
from operate.cluster import Cluster
from operate.ownership import stack_cluster


def mysql(arguments: list[str]) -> None:
    """Becomes the `mysql` or `mariadb` client; the password goes through its environment, not its command line."""
    client = shutil.which("mysql") or shutil.which("mariadb")
    if client is None:
        raise RuntimeError("there is no mysql or mariadb client on PATH: install Debian's mariadb-client-core")
    known = stack.mysql_outputs()
    cluster = Cluster(stack_cluster(known.volume), known.job, known.namespace, group="mysql", port_label="db")
    at = cluster.endpoint(timeout_s=30)
    command = [client, f"--host={at.host}", f"--port={at.port}", f"--user={known.user}", "--protocol=tcp", *arguments]
    command[1:1] = _encryption(known.tls, known.ca, mariadb=_is_mariadb(client))
    os.execve(client, command, {**os.environ, "MYSQL_PWD": known.password})


def _encryption(tls: str, ca: str, *, mariadb: bool) -> list[str]:
    """Options by which the password is sent to nobody without encryption, nor to a server of another CA."""
    if tls == "off":
        print(stack.UNENCRYPTED, file=sys.stderr)
        return []
    trusted = [f"--ssl-ca={_file(ca)}"] if ca else []
    if mariadb:
        return ["--ssl", *trusted]
    return ["--ssl-mode=VERIFY_CA" if ca else "--ssl-mode=REQUIRED", *trusted]


def _file(text: str) -> str:
    """A file that goes with the process."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("ca.pem", 0)
        os.write(handle, text.encode())
        return f"/proc/self/fd/{handle}"
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


def _is_mariadb(client: str) -> bool:
    version = subprocess.run([client, "--version"], capture_output=True, text=True, check=False).stdout
    return "mariadb" in version.lower()
