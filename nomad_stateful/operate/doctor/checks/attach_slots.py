"""How many more volumes the clients' instances can have attached."""

from collections.abc import Iterator
from dataclasses import dataclass

from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate.doctor.facts import Facts, Json, driver_of
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/volume_limits.html"
_FEW = 2


@dataclass(frozen=True)
class Slots:
    """An instance's attachments, and the most that its type allows."""

    most: int
    volumes: frozenset[str]
    """The volumes that are attached."""

    @property
    def used(self) -> int:
        """How many volumes are attached."""
        return len(self.volumes)

    @property
    def free(self) -> int:
        """How many more volumes can be attached."""
        return max(0, self.most - self.used)


def left(facts: Facts) -> Iterator[Finding]:
    """Every client's instance can have more volumes attached."""
    for client in facts.clients():
        slots = _slots(facts, client)
        if slots is not None and slots.free <= _FEW:
            kind = facts.instances()[client.instance_id]["InstanceType"]
            what = f"client {client.name} ({kind}) has {slots.used} of at most {slots.most} volumes attached"
            told = problem if slots.free == 0 else warning
            why = "beyond its limit EC2 refuses an attachment, and the consumer stays pending"
            yield told(what, why, "start another client in the zone, or a larger instance type", _PAGE)


def known_to_driver(facts: Facts) -> Iterator[Finding]:
    """No EBS plugin promises Nomad more volumes on a client than EC2 would attach."""
    for plugin in facts.plugins():
        if driver_of(plugin).backend != "ebs":
            continue
        own = _registered(facts, str(plugin["id"]))
        for client in facts.clients():
            slots = _slots(facts, client)
            promised = int(client.plugin_node(str(plugin["id"])).get("MaxVolumes") or 0)
            if slots is None or promised <= (most := slots.most - len(slots.volumes - own)):
                continue
            what = (
                f"plugin {plugin['id']} lets Nomad put {promised} volumes on {client.name}, where EC2 attaches {most}"
            )
            why = "Nomad places allocations there whose volumes EC2 then refuses to attach"
            cure = f"count what else is attached in reservedVolumeAttachments of plugin {plugin['id']}"
            yield warning(what, why, cure, _PAGE)


def _registered(facts: Facts, plugin_id: str) -> set[str]:
    """Returns the ids in EC2 of the plugin's volumes."""
    # Of all namespaces Nomad lists no volumes by their plugin.
    stubs = facts.once("all volumes", lambda: facts.nomad().get("volumes", type="csi", namespace="*")) or []
    return {str(stub["ExternalID"]) for stub in stubs if stub["PluginID"] == plugin_id}


def _slots(facts: Facts, client: Client) -> Slots | None:
    """Returns the slots of a client's instance; None where EC2 does not say."""
    instance = facts.instances().get(client.instance_id)
    if instance is None:
        return None
    answer = facts.ask("ec2", "describe_instance_types", InstanceTypes=[instance["InstanceType"]])
    kind: Json = next(iter(answer["InstanceTypes"]), {})
    limits = kind.get("EbsInfo") or {}
    most = int(limits.get("MaximumEbsAttachments") or 0)
    if not most:
        return None
    if limits.get("AttachmentLimitType") == "shared":
        # Further network interfaces and the disks of the instance store take slots too.
        disks = (kind.get("InstanceStorageInfo") or {}).get("Disks") or []
        most -= max(0, len(instance.get("NetworkInterfaces") or []) - 1) + sum(int(disk["Count"]) for disk in disks)
    attached = [(one.get("Ebs") or {}).get("VolumeId") for one in instance.get("BlockDeviceMappings") or []]
    return Slots(most, frozenset(filter(None, attached)))
