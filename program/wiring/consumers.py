"""From the settings of consumers to the inputs of their components."""

import pulumi

from components.consumer import RegisteredVolume
from components.container import ContainerArgs, ContainerService, ContainerVolume
from components.csi_volume import CsiVolume
from components.ownership import Owner
from program.environment import Environment
from program.settings import Consumer, Settings
from program.settings.consumer import Mount


def registered_volume(
    settings: Settings, environment: Environment, volume: str, registered: CsiVolume
) -> RegisteredVolume:
    """A registered volume of that name, or of that set, as its consumer needs to know it."""
    return {
        "volume_id": registered.volume_id,
        "registration_id": registered.registration_id,
        "restart_id": registered.restart_id,
        "external_id": registered.external_id,
        "backend": settings.plugin_of(settings.volume(volume)).known.backend,
        "region": environment.region,
        "account_id": environment.account_id,
        "aws_config": environment.aws_config,
    }


def owner(environment: Environment) -> Owner | None:
    """Whose everything is that bears an id in Nomad."""
    return {"stack": environment.claimant, "expects": dict(environment.expects)} if environment.claimant else None


def container(
    settings: Settings, environment: Environment, consumer: Consumer, registered: dict[str, CsiVolume]
) -> ContainerArgs:
    """A program on its registered volumes."""
    placement = settings.placement
    return {
        "job_id": consumer.name,
        "owner": owner(environment),
        "placement": {
            "namespace": placement.namespace,
            "datacenters": placement.datacenters,
            "node_pool": consumer.node_pool or placement.node_pool,
        },
        "constraints": [
            {"attribute": one.attribute, "operator": one.operator, "value": one.value} for one in consumer.constraints
        ],
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
        "ports": [{"label": port.label, "static": port.static, "to": port.to} for port in consumer.ports],
        "files": [
            {"path": file.destination, "text": file.text, "perms": file.perms, "change_mode": file.change_mode}
            for file in consumer.files
        ],
        "secrets": {name: pulumi.Output.secret(value) for name, value in consumer.secrets.items()} or None,
        "services": _services(consumer),
        "restart": {
            "attempts": consumer.restart_attempts,
            "interval": consumer.restart_interval,
            "delay": consumer.restart_delay,
        },
        "stop_after_disconnect": own_time(settings.stop_after_disconnect(consumer)),
        "release_timeout_s": consumer.release_timeout_s,
        "timeout_s": consumer.timeout_s,
    }


def options(consumer: Consumer) -> pulumi.ResourceOptions:
    """Under a new name it is the same resource, whose parts are replaced in the safe order."""
    before = consumer.renamed_from
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(name=f"consumer-{before}")] if before else None)


def own_time(setting: str) -> str | None:
    """How long a client on its own lets a job run; None for as long as it likes."""
    return None if setting == "never" else setting


def _volume(
    settings: Settings,
    environment: Environment,
    consumer: Consumer,
    mount: Mount,
    registered: dict[str, CsiVolume],
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
            "provider": service.provider,
            "port": service.port,
            "check": service.check,
            "check_path": service.check_path if service.check == "http" else "",
            "check_interval": service.check_interval,
            "check_timeout": service.check_timeout,
        }
    ]
