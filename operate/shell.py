"""An interactive MySQL client, logged in to the server where it runs now."""

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser

from operate import stack
from operate.command import Command
from operate.errors import OperateError
from operate.ownership import mysql_cluster


def mysql(arguments: list[str]) -> None:
    """Replaces this process by the `mysql` or `mariadb` client, with the password in its environment."""
    client = shutil.which("mysql") or shutil.which("mariadb")
    if client is None:
        raise OperateError("there is no mysql or mariadb client on PATH: install Debian's mariadb-client-core")
    known = stack.mysql_outputs()
    at = mysql_cluster(known).endpoint(timeout_s=30)
    command = [client, f"--host={at.host}", f"--port={at.port}", f"--user={known.user}", "--protocol=tcp", *arguments]
    command[1:1] = _encryption(known.tls, known.ca, mariadb=_is_mariadb(client))
    os.execve(client, command, {**os.environ, "MYSQL_PWD": known.password})


def _encryption(tls: str, ca: str, *, mariadb: bool) -> list[str]:
    """Returns options that send the password only encrypted, and with `ca` only to a server that it verifies."""
    if tls == "off":
        print(stack.UNENCRYPTED, file=sys.stderr)
        return []
    trusted = [f"--ssl-ca={_file(ca)}"] if ca else []
    if mariadb:
        return ["--ssl", *trusted]
    return ["--ssl-mode=VERIFY_CA" if ca else "--ssl-mode=REQUIRED", *trusted]


def _file(text: str) -> str:
    """Returns the path of a file with the text, which the kernel removes with the process."""
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


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*")


COMMAND = Command(
    "mysql",
    "open a MySQL client, with further arguments passed to it",
    lambda known: mysql(known.arguments),
    _arguments,
)
