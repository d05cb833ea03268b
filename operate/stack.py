"""The selected Pulumi stack, as an operator sees it: its outputs, and bringing it up again."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def project_dir() -> Path:
    """The Pulumi project one stands in, else the one this file belongs to."""
    here = Path.cwd()
    return here if (here / "Pulumi.yaml").is_file() else Path(__file__).resolve().parent.parent


class StackError(Exception):
    """The stack cannot be read or brought up."""


@dataclass(frozen=True)
class MysqlOutputs:
    """What the stack says about its MySQL server."""

    job: str
    namespace: str
    zone: str
    volume: str
    user: str
    password: str
    tls: str


def outputs() -> dict[str, Any]:
    """The stack's outputs with secrets in clear. Raises StackError."""
    done = subprocess.run(
        ["pulumi", "stack", "output", "--json", "--show-secrets", "--non-interactive"],
        cwd=project_dir(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StackError(f"pulumi stack output failed: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


def setting(key: str) -> str:
    """One value of the stack's configuration, "" where it has none."""
    done = subprocess.run(
        ["pulumi", "config", "get", key, "--non-interactive"],
        cwd=project_dir(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def mysql_outputs() -> MysqlOutputs:
    """The MySQL server's part of the outputs. Raises StackError when the stack has none."""
    known = outputs()
    if not known.get("mysql"):
        raise StackError("the stack has no MySQL server: run `make up` (or `pulumi up`) first")
    mysql = known["mysql"]
    return MysqlOutputs(
        job=mysql["job"],
        namespace=mysql["namespace"],
        zone=mysql["zone"],
        volume=mysql["volume"],
        user=mysql["user"],
        password=known["mysqlPassword"],
        tls=mysql.get("tls", "preferred"),
    )


def bring_up() -> None:
    """`pulumi up` after a refresh, so that what is gone is made again; its output is shown. Raises StackError."""
    command = ["pulumi", "up", "--yes", "--refresh", "--non-interactive", "--suppress-outputs", "--diff=false"]
    if subprocess.run(command, cwd=project_dir(), check=False).returncode != 0:
        raise StackError("pulumi up failed: see its output above")
