"""From the settings of consumers to the inputs of their components."""

import pulumi

from nomad_stateful.components.container import ContainerArgs, ContainerPort, ContainerService, ContainerVolume
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.placement import JobConstraint
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.settings import Consumer, Settings
from nomad_stateful.program.settings.consumer import Mount
from nomad_stateful.program.wiring.jobs import own_time, owner, placement, registered_volume, restart, same


def container(
    settings: Settings, environment: Environment, consumer: Consumer, registered: dict[str, RegisteredCsiVolume]
) -> ContainerArgs:
    """Returns a program on its registered volumes."""
    return {
        "job_id": consumer.name,
        "owner": owner(environment),
        "placement": {**placement(settings), "node_pool": consumer.node_pool or settings.placement.node_pool},
        "constraints": [same(JobConstraint, one) for one in consumer.constraints],
        "count": consumer.count,
        "canaries": consumer.canaries,
        "volumes": [_volume(settings, environment, consumer, mount, registered) for mount in consumer.mounts],
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
        "ports": [same(ContainerPort, port) for port in consumer.ports],
        "files": [
            {"path": file.destination, "text": file.text, "perms": file.perms, "change_mode": file.change_mode}
            for file in consumer.files
        ],
        "secrets": {name: pulumi.Output.secret(value) for name, value in consumer.secrets.items()} or None,
        "services": _services(consumer),
        "restart": restart(consumer),
        "stop_after_disconnect": own_time(settings.stop_after_disconnect(consumer)),
        "release_timeout_s": consumer.release_timeout_s,
        "timeout_s": consumer.timeout_s,
    }


def container_options(consumer: Consumer) -> pulumi.ResourceOptions:
    """Returns its aliases: under a new name it is the same resource, whose parts are replaced in the safe order."""
    before = consumer.renamed_from
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(name=f"consumer-{before}")] if before else None)


def _volume(
    settings: Settings,
    environment: Environment,
    consumer: Consumer,
    mount: Mount,
    registered: dict[str, RegisteredCsiVolume],
) -> ContainerVolume:
    volume = settings.volume(mount.volume)
    # Of a set larger than the job only the volumes that its instances have.
    members = volume.members[: consumer.count] if mount.per_alloc else volume.members
    return {
        "name": mount.volume,
        "source": mount.volume,
        "earlier_name": volume.renamed_from,
        "members": [
            registered_volume(settings, environment, volume.name, registered[member.volume_id]) for member in members
        ],
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
            **same(ContainerService, service),
            "check_path": service.check_path if service.check == "http" else "",
        }
    ]
