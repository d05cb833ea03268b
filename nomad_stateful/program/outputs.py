"""What the stack says about itself."""

from typing import Any

import pulumi

from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.database import DatabaseAccount, DatabaseServer, DatabaseServerArgs, LogCopies
from nomad_stateful.components.database_backup import DatabaseBackup, DumpCopies
from nomad_stateful.components.database_group import DatabaseGroup, DatabaseGroupArgs
from nomad_stateful.databases.model import Database
from nomad_stateful.program.plan.model import Plan


def volumes(plan: Plan, registered: dict[str, RegisteredCsiVolume]) -> dict[str, Any]:
    """Returns by id in Nomad: the id at the storage provider, the zone and the size."""
    return {
        volume.id: {
            "id": registered[volume.id].external_id,
            "nomadId": registered[volume.id].volume_id,
            "zone": volume.zone,
            "sizeGib": volume.size_gib,
            "plugin": volume.plugin,
        }
        for volume in plan.volumes
    }


def plugins(made: dict[str, CsiPlugin]) -> dict[str, Any]:
    """Returns by id: topology key and health."""
    return {
        plugin_id: {"id": plugin.plugin_id, "topologyKey": plugin.topology_key, "health": plugin.health}
        for plugin_id, plugin in made.items()
    }


def database(
    kind: Database, args: DatabaseServerArgs, zone: str, server: DatabaseServer | DatabaseGroup
) -> dict[str, Any]:
    """Returns where the server runs, and where it answers."""
    certificate = args["tls"].get("certificate")
    return {
        "job": args["job_id"],
        "namespace": args["placement"]["namespace"],
        "zone": zone or None,
        "volume": args["volume"]["name"],
        "host": server.host,
        "port": server.port,
        "user": kind.superuser,
        "tls": args["tls"]["mode"],
        # What a client knows the server by: its authority, or the certificate where none is given.
        "ca": (certificate.get("ca") or certificate["certificate"]) if certificate else "",
    }


def group(plan: Plan, args: DatabaseGroupArgs) -> dict[str, Any]:
    """Returns the routers' job, who the members of the group are, and the routers' services."""
    placed = zip(args["member"]["members"], (str(one["volume_id"]) for one in args["volumes"]), strict=True)
    members = {
        "members": [{"job": job, "zone": plan.zone_of(volume), "volume": volume} for job, volume in placed],
        "service": args["server"]["job_id"],
        "readPort": args["router"]["read_port"],
        "readService": f"{args['server']['job_id']}-read",
        "maxLagS": args["router"]["max_lag_s"],
    }
    return {"job": args["router"]["job_id"], "group": members}


def backup(made: DatabaseBackup, copies: DumpCopies | None) -> dict[str, Any]:
    """Returns the jobs that dump and restore, and where in S3 the dumps are copied to."""
    place = pulumi.Output.format("s3://{0}/{1}", copies["bucket"], copies["prefix"]) if copies else ""
    return {"job": made.job_id, "restoreJob": made.restore_job_id, "s3": place}


def point_in_time(copies: LogCopies) -> dict[str, Any]:
    """Returns where the server's logs are."""
    return {"bucket": copies["bucket"], "prefix": copies["prefix"], "region": copies["region"]}


def user_passwords(accounts: list[DatabaseAccount], server: DatabaseServer | DatabaseGroup) -> dict[str, Any]:
    """Returns by name: the generated passwords of the configured users (secret), who have a database each."""
    return {one["name"]: server.account_passwords[one["name"]] for one in accounts if one["database"]}


def consumers(made: dict[str, Container]) -> dict[str, Any]:
    """Returns by name: the job, and its newest allocation."""
    return {name: {"job": one.job_id, "allocation": one.allocation_id} for name, one in made.items()}
