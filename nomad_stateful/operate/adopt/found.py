"""What runs already: CSI volumes and plugins in Nomad, EBS volumes in EC2, and the clients' role."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.model import CsiDriver
from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client
from nomad_stateful.ebs.filters import described, in_batches
from nomad_stateful.ebs.volumes import EbsVolumes, Volume, is_ebs_volume
from nomad_stateful.nomad import clients, csi_diagnosis
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.csi_health import Health, assess
from nomad_stateful.nomad.ownership import Claim
from nomad_stateful.nomad.paths import plugin_path, volume_path
from nomad_stateful.nomad.registration import Registration
from nomad_stateful.nomad.volume_claims import claims

Json = Mapping[str, Any]


@dataclass(frozen=True)
class FoundVolume:
    """A CSI volume that Nomad has."""

    volume_id: str
    namespace: str
    registration: Registration
    users: list[str]
    """Jobs with claims to it, sorted."""
    stack: str
    """The stack that has claimed it; "" where none has."""
    ebs: Volume | None
    """Its EBS volume; None where EC2 has none."""


@dataclass(frozen=True)
class FoundPlugin:
    """A CSI plugin that Nomad has."""

    plugin_id: str
    driver: CsiDriver | None
    """None where the program does not know it."""
    provider: str
    controllers: int
    health: Health
    jobs: list[str]
    """Ids of the jobs that run it, sorted."""


@dataclass(frozen=True)
class Found:
    """Everything that could become a stack's."""

    volumes: list[FoundVolume]
    plugins: dict[str, FoundPlugin]
    roles: list[str]
    """IAM roles of the clients' instances."""


def read(nomad: NomadApi, place: AwsPlace, drivers: Mapping[str, str]) -> Found:
    """Reads Nomad and EC2, and changes nothing; `drivers` names the driver of plugins that do not say it themselves.

    Raises ProviderError, ClientError and BotoCoreError.
    """
    ready = clients.read(nomad, [stub for stub in clients.listed(nomad) if stub.status == "ready"])
    zones = {client.id: client.zone for client in ready}
    stubs = nomad.get("volumes", type="csi", namespace="*") or []
    found = [nomad.find(volume_path(stub["ID"]), namespace=stub["Namespace"]) for stub in stubs]
    bodies = [body for body in found if body is not None]
    ids = sorted({str(body["ExternalID"]) for body in bodies if is_ebs_volume(str(body["ExternalID"]))})
    ebs = EbsVolumes(place).named(ids) if ids else {}
    plugins = sorted({stub["ID"] for stub in nomad.get("plugins", type="csi") or []})
    return Found(
        sorted((_volume(nomad, body, ebs) for body in bodies), key=lambda one: (one.namespace, one.volume_id)),
        {plugin_id: _plugin(nomad, plugin_id, drivers.get(plugin_id, ""), zones) for plugin_id in plugins},
        _roles(place, sorted({client.instance_id for client in ready} - {""})),
    )


def _volume(nomad: NomadApi, body: Json, ebs: Mapping[str, Volume]) -> FoundVolume:
    holder = Claim(nomad, body["Namespace"], "volume", body["ID"]).holder()
    return FoundVolume(
        volume_id=body["ID"],
        namespace=body["Namespace"],
        registration=Registration.of(body),
        users=sorted({one.job_id for one in claims(body) if one.job_id}),
        stack=holder.stack if holder else "",
        ebs=ebs.get(str(body["ExternalID"])),
    )


def _plugin(nomad: NomadApi, plugin_id: str, named: str, zones: Mapping[str, str]) -> FoundPlugin:
    body = nomad.find(plugin_path(plugin_id)) or {}
    provider = str(body.get("Provider") or "")
    # A driver without a name of its own reports the plugin's id.
    told = next((one for one in DRIVERS.values() if one.provider and one.provider == provider), None)
    driver = DRIVERS[named] if named else told
    keys = driver.topology_keys if driver else ()
    return FoundPlugin(
        plugin_id=plugin_id,
        driver=driver,
        provider=provider,
        controllers=int(body.get("ControllersExpected") or 0),
        health=assess(body, keys, lambda node_id: zones.get(node_id, "")),
        jobs=sorted({str(job["ID"]) for job in csi_diagnosis.plugin_jobs(nomad, plugin_id)}),
    )


def _roles(place: AwsPlace, instances: list[str]) -> list[str]:
    if not instances:
        return []
    found = described(aws_client("ec2", place), "Instances", in_batches("instance-id", instances))
    profiles = sorted(
        {one["IamInstanceProfile"]["Arn"].rpartition("/")[2] for one in found if "IamInstanceProfile" in one}
    )
    iam = aws_client("iam", place)
    roles = [iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"] for name in profiles]
    return sorted({role["RoleName"] for some in roles for role in some})
