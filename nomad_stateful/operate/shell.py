"""A database's client in the server's own task: here it takes Nomad's command line, and no way to the server's port."""

import os
import shutil
import subprocess
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Database
from nomad_stateful.databases.operations import operations
from nomad_stateful.nomad import tls
from nomad_stateful.operate import stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Command
from nomad_stateful.operate.ownership import database_cluster

_VARIABLES = {"NOMAD_ADDR": "address", "NOMAD_TOKEN": "token", "NOMAD_REGION": "region", **tls.ENVIRONMENT}
_TEXTS = {"NOMAD_CACERT": "ca_pem", "NOMAD_CLIENT_CERT": "cert_pem", "NOMAD_CLIENT_KEY": "key_pem"}


def client(name: str, arguments: list[str]) -> None:
    """Runs the client, and ends this process with its exit status. Raises OperateError where it cannot be run."""
    server = stack.database_outputs()
    if server.kind.name != name:
        raise OperateError(f"the stack's database is {server.kind.title}: `nomad-stateful {server.kind.name}`")
    nomad = shutil.which("nomad")
    if nomad is None:
        raise OperateError(
            "there is no nomad on PATH, which runs the client in the server's task: install it, or in the sandbox "
            "`source .sandbox/env`"
        )
    at = database_cluster(server).endpoint(timeout_s=30)
    enter = [nomad, "alloc", "exec", f"-namespace={server.namespace}", f"-task={name}", at.allocation_id]
    with tempfile.TemporaryDirectory() as folder:
        command = [*enter, "sh", "-c", operations(name).client, name, *arguments]
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


def _command(kind: Database) -> Command:
    return Command(
        kind.name,
        f"open a {kind.title} client, with further arguments passed to it",
        lambda known: client(kind.name, known.arguments),
        _arguments,
    )


COMMANDS = tuple(_command(kind) for kind in DATABASES.values())
