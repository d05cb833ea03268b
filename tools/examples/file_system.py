"""What examples start from: a file system, a file server, a snapshot."""

# ruff: noqa: S608 - the words are constants

from __future__ import annotations

import re
import shutil
from ipaddress import IPv4Network
from uuid import uuid4

import yaml

from sandbox.cloud.aws_client import client
from sandbox.machine.naming import FILE_SERVER_NAMES
from sandbox.settings import SandboxError
from sandbox.stack.stack import Stack
from sandbox.standins.nas.layout import POOL, USER, Nas
from tools.examples.stacks import Workplace

MARK = "before-the-snapshot"
LATER = "after-the-snapshot"


def make_efs(place: Workplace, name: str) -> None:
    """Makes a file system with a mount target in every zone."""
    efs, ec2 = client(place.settings, "efs"), client(place.settings, "ec2")
    made = efs.create_file_system(CreationToken=f"example-{name}-{uuid4()}", Encrypted=True)["FileSystemId"]
    for subnet in ec2.describe_subnets()["Subnets"]:
        if IPv4Network(subnet["CidrBlock"]).subnet_of(place.settings.subnet):
            efs.create_mount_target(FileSystemId=made, SubnetId=subnet["SubnetId"])
    place.fill_in(name, {"fs-EXAMPLE": made})


def name_nas(place: Workplace, name: str) -> None:
    """Names the sandbox's file server, and the key to it, in the driver's configuration."""
    nas = Nas(place.settings.nas_dir)
    # A name of the client's /etc/hosts is not known in a container; nodes have their client's network, and its names.
    server = str(place.settings.file_server)
    config = {
        "driver": "zfs-generic-nfs",
        "sshConnection": {
            "host": server,
            "port": 22,
            "username": USER,
            "privateKey": nas.key_file.read_text(encoding="ascii"),
        },
        "zfs": {
            "datasetParentName": f"{POOL}/csi",
            "detachedSnapshotsDatasetParentName": f"{POOL}/snapshots",
            "datasetPermissionsMode": "0777",
        },
        "nfs": {
            "shareHost": FILE_SERVER_NAMES[0],
            "shareStrategy": "setDatasetProperties",
            "shareStrategySetDatasetProperties": {"properties": {"sharenfs": "on"}},
        },
    }
    place.stack(name)
    key = "nomad-stateful:plugins[0].config"
    words = ("pulumi", "config", "set", "--secret", "--path", key, "--stack", name, "--non-interactive")
    # Through standard input: a command line can be seen by everybody.
    place.run(*words, stdin=yaml.safe_dump(config))


def _sql(place: Workplace, stack: str, statement: str) -> str:
    return place.operate(stack, "mysql", "--", "--batch", "--skip-column-names", f"-e{statement}")


def take_snapshot(place: Workplace, name: str) -> None:
    """Brings MySQL up on a first volume, writes a row, takes a snapshot, writes another row."""
    config = place.folder / f"Pulumi.{name}.yaml"
    complete = config.with_suffix(".complete")
    shutil.copy(config, complete)
    first = yaml.safe_load(config.read_text(encoding="utf-8"))
    first["config"]["nomad-stateful:volumes"] = first["config"]["nomad-stateful:volumes"][:1]
    first["config"]["nomad-stateful:mysql"]["volume"] = "mysql"
    config.write_text(yaml.safe_dump(first, sort_keys=False), encoding="utf-8")
    place.stack(name).up(refresh=False)
    _sql(place, name, f"CREATE DATABASE t; CREATE TABLE t.rows (word TEXT); INSERT INTO t.rows VALUES ('{MARK}')")
    printed = place.operate(name, "snapshot", "mysql")
    found = re.search(r"snap-[0-9a-f]+", printed)
    if not found:
        raise SandboxError(f"no snapshot id in: {printed}")
    _sql(place, name, f"INSERT INTO t.rows VALUES ('{LATER}')")
    shutil.move(complete, config)
    place.fill_in(name, {"snap-EXAMPLE": found.group()})


def rows_of_the_snapshot(place: Workplace, stack: Stack) -> list[str]:
    """Rows from before the snapshot are there, later ones are not."""
    rows = _sql(place, stack.name, "SELECT word FROM t.rows").split()
    if rows != [MARK]:
        raise SandboxError(f"the restored volume has the rows {rows}, and was to have {[MARK]}")
    return [f"the restored volume has the row {MARK!r} and not {LATER!r}"]
