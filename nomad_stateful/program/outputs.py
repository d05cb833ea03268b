"""What the stack says about itself."""

from typing import Any

import pulumi

from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.mysql import BinlogCopies, MysqlServer
from nomad_stateful.components.mysql_backup import DumpCopies, MysqlBackup
from nomad_stateful.program.settings import Mysql, Settings


def volumes(settings: Settings, registered: dict[str, RegisteredCsiVolume]) -> dict[str, Any]:
    """Returns by id in Nomad: the id at the storage provider, the zone and the size."""
    return {
        member.volume_id: {
            "id": registered[member.volume_id].external_id,
            "nomadId": registered[member.volume_id].volume_id,
            "zone": member.zone,
            "sizeGib": volume.size_gib,
            "plugin": settings.plugin_of(volume).id,
        }
        for volume in settings.volumes
        for member in volume.members
    }


def plugins(made: dict[str, CsiPlugin]) -> dict[str, Any]:
    """Returns by id: topology key and health."""
    return {
        plugin_id: {"id": plugin.plugin_id, "topologyKey": plugin.topology_key, "health": plugin.health}
        for plugin_id, plugin in made.items()
    }


def mysql(settings: Settings, wanted: Mysql, server: MysqlServer) -> dict[str, Any]:
    """Returns where the server runs, and where it answers."""
    return {
        "job": wanted.job_id,
        "namespace": settings.placement.namespace,
        "zone": settings.volume(wanted.volume).zone,
        "volume": wanted.volume,
        "host": server.host,
        "port": server.port,
        "user": "root",
        "tls": wanted.tls,
        "ca": _authority(wanted),
    }


def backup(made: MysqlBackup, copies: DumpCopies | None) -> dict[str, Any]:
    """Returns the jobs that dump and restore, and where in S3 the dumps are copied to."""
    place = pulumi.Output.format("s3://{0}/{1}", copies["bucket"], copies["prefix"]) if copies else ""
    return {"job": made.job_id, "restoreJob": made.restore_job_id, "s3": place}


def point_in_time(copies: BinlogCopies) -> dict[str, Any]:
    """Returns where the binary logs are."""
    return {"bucket": copies["bucket"], "prefix": copies["prefix"], "region": copies["region"]}


def _authority(wanted: Mysql) -> str:
    """Returns what a client knows the server by, in PEM: its authority, or the certificate where none is given."""
    given = wanted.tls_certificate
    return wanted.authority or ("" if given is None else given.certificate)


def user_passwords(wanted: Mysql, server: MysqlServer) -> dict[str, Any]:
    """Returns by name: the generated passwords of the configured users (secret)."""
    return {user.name: server.account_passwords[user.name] for user in wanted.users}


def consumers(made: dict[str, Container]) -> dict[str, Any]:
    """Returns by name: the job, and its newest allocation."""
    return {name: {"job": one.job_id, "allocation": one.allocation_id} for name, one in made.items()}
