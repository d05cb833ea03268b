"""MySQL's client in the server's own task: here it takes Nomad's command line, and no way to the server's port."""

import os
import shutil
import subprocess
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from nomad_stateful.nomad import tls
from nomad_stateful.operate import stack
from nomad_stateful.operate.command import Command
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.ownership import mysql_cluster

CLIENT = """\
MYSQL_PWD=$(cat "$MYSQL_ROOT_PASSWORD_FILE") && export MYSQL_PWD || exit
mysql --user=root --socket="$START_SOCKET" "$@"
status=$?
sleep 0.2
exit "$status"
"""
"""What runs in the task, whose environment names both files: the password does not leave it.

Nomad may lose what a container's command has said that ends at once.
"""
_VARIABLES = {"NOMAD_ADDR": "address", "NOMAD_TOKEN": "token", "NOMAD_REGION": "region", **tls.ENVIRONMENT}
_TEXTS = {"NOMAD_CACERT": "ca_pem", "NOMAD_CLIENT_CERT": "cert_pem", "NOMAD_CLIENT_KEY": "key_pem"}


def mysql(arguments: list[str]) -> None:
    """Runs the client, and ends this process with its exit status. Raises OperateError where it cannot be run."""
    nomad = shutil.which("nomad")
    if nomad is None:
        raise OperateError(
            "there is no nomad on PATH, by which the client runs in the server's task: install it, or in the sandbox "
            "`source .sandbox/env`"
        )
    known = stack.mysql_outputs()
    at = mysql_cluster(known).endpoint(timeout_s=30)
    enter = [nomad, "alloc", "exec", f"-namespace={known.namespace}", "-task=mysql", at.allocation_id]
    with tempfile.TemporaryDirectory() as folder:
        command = [*enter, "sh", "-c", CLIENT, "mysql", *arguments]
        raise SystemExit(subprocess.run(command, env=_environment(Path(folder)), check=False).returncode)


def _environment(folder: Path) -> dict[str, str]:
    """Returns what leads Nomad's command line to the stack's cluster; certificates in text are files in the folder."""
    known = stack.nomad_config()
    found = {variable: str(known[name]) for variable, name in _VARIABLES.items() if name in known}
    for variable, name in _TEXTS.items():
        if name in known:
            (folder / name).write_text(known[name], encoding="utf-8")
            found[variable] = str(folder / name)
    token = os.environ.get("NOMAD_OPERATOR_TOKEN")
    return {**os.environ, **found, **({"NOMAD_TOKEN": token} if token else {})}


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*")


COMMAND = Command(
    "mysql",
    "open a MySQL client, with further arguments passed to it",
    lambda known: mysql(known.arguments),
    _arguments,
)
