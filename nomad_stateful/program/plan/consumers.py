"""From the settings of consumers to the inputs of their components."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nomad_stateful.program.plan.inputs import THIS_STACK, constraint, own_time, placement, registered_volume, restart
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.settings import Consumer, Settings
from nomad_stateful.program.settings.consumer import Mount

if TYPE_CHECKING:
    from nomad_stateful.components.container import ContainerArgs, ContainerService, ContainerVolume


def container(settings: Settings, consumer: Consumer) -> ContainerArgs:
    """Returns a program on its registered volumes."""
    return {
        "job_id": consumer.name,
        "owner": THIS_STACK,
        "placement": {**placement(settings), "node_pool": consumer.node_pool or settings.placement.node_pool},
        "constraints": [constraint(one) for one in consumer.constraints],
        "count": consumer.count,
        "canaries": consumer.canaries,
        "volumes": [_volume(settings, consumer, mount) for mount in consumer.mounts],
        "task": {
            "driver": consumer.task_driver,
            "image": consumer.image or "",
            "command": consumer.command,
            "args": consumer.args,
            "env": consumer.env,
            "user": consumer.user,
            "kill_signal": consumer.kill_signal or ("" if consumer.task_driver == "docker" else "SIGTERM"),
            "kill_timeout": consumer.kill_timeout,
            "cpu_mhz": consumer.cpu_mhz,
            "memory_mib": consumer.memory_mib,
        },
        "ports": [{"label": port.label, "static": port.static, "to": port.to} for port in consumer.ports],
        "files": [
            {"path": file.destination, "text": file.text, "perms": file.perms, "change_mode": file.change_mode}
            for file in consumer.files
        ],
        "secrets": {name: Later("secret", f"consumers.{consumer.name}.secrets.{name}") for name in consumer.secrets}
        or None,
        "services": _services(consumer),
        "restart": restart(consumer),
        "stop_after_disconnect": own_time(settings.stop_after_disconnect(consumer)),
        "release_timeout_s": consumer.release_timeout_s,
        "timeout_s": consumer.timeout_s,
    }


def _volume(settings: Settings, consumer: Consumer, mount: Mount) -> ContainerVolume:
    volume = settings.volume(mount.volume)
    # Of a set larger than the job only the volumes that its instances have.
    members = volume.members[: consumer.count] if mount.per_alloc else volume.members
    return {
        "name": mount.volume,
        "source": mount.volume,
        "earlier_name": volume.renamed_from,
        "members": [registered_volume(settings, volume.name, member.volume_id) for member in members],
        "access_mode": volume.access_mode,
        "attachment_mode": volume.attachment_mode,
        "read_only": mount.read_only,
        "per_alloc": mount.per_alloc,
        "mount_path": mount.path,
    }


def _services(consumer: Consumer) -> list[ContainerService]:
    service = consumer.service
    if service is None:
        return []
    return [
        {
            "provider": service.provider,
            "port": service.port,
            "check": service.check,
            "check_path": service.check_path if service.check == "http" else "",
            "check_interval": service.check_interval,
            "check_timeout": service.check_timeout,
        }
    ]
