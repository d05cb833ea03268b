"""A cluster with a volume that was made by hand, and the command that adopts it."""

import json
from pathlib import Path
from typing import Any

from nomad_stateful.operate.adopt import command
from tests.fake_nomad import FakeNomad
from tests.unit.operate.commands import parsed, result_of

ZONE_KEY = "topology.ebs.csi.aws.com/zone"
CLIENT = {
    "ID": "node-1",
    "Status": "ready",
    "Attributes": {
        "unique.platform.aws.instance-id": "i-1",
        "platform.aws.placement.availability-zone": "us-west-2a",
    },
}
PLUGIN = {
    "ID": "ebs",
    "Provider": "ebs.csi.aws.com",
    "Version": "v1.48.0",
    "ControllersExpected": 1,
    "Controllers": {"node-1": {"Healthy": True}},
    "Nodes": {
        "node-1": {"Healthy": True, "NodeInfo": {"AccessibleTopology": {"Segments": {ZONE_KEY: "us-west-2a"}}}},
    },
}
PLUGIN_JOB = {
    "ID": "ebs-nodes",
    "Status": "running",
    "TaskGroups": [{"Tasks": [{"CSIPluginConfig": {"ID": "ebs"}}]}],
}
EBS = {
    "VolumeId": "vol-0000000000000000a",
    "AvailabilityZone": "us-west-2a",
    "Size": 10,
    "VolumeType": "gp3",
    "Iops": 3000,
    "Throughput": 125,
    "Encrypted": False,
    "State": "in-use",
}


def volume(volume_id: str = "ledger", **other: Any) -> dict[str, Any]:
    return {
        "ID": volume_id,
        "Namespace": "default",
        "Name": volume_id,
        "ExternalID": "vol-0000000000000000a",
        "PluginID": "ebs",
        "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}],
        "RequestedTopologies": {"Required": [{"Segments": {ZONE_KEY: "us-west-2a"}}]},
        "MountOptions": {"FSType": "ext4"},
        "Allocations": [{"ID": "a1", "JobID": "writer"}],
    } | other


class Ec2:
    """EC2 and IAM, as far as they are asked."""

    def __init__(self, *volumes: dict[str, Any]) -> None:
        self.volumes = list(volumes)
        self.refuses: Exception | None = None

    def get_paginator(self, _name: str) -> "Ec2":
        return self

    def paginate(self, Filters: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: N803
        by_tag = {one["Name"].removeprefix("tag:"): one["Values"] for one in Filters if one["Name"].startswith("tag:")}
        found = [
            one
            for one in self.volumes
            if all(self.tags(one["VolumeId"]).get(key) in values for key, values in by_tag.items())
        ]
        profile = {"Arn": "arn:aws:iam::123456789012:instance-profile/clients"}
        clients = [{"InstanceId": "i-1", "IamInstanceProfile": profile}]
        return [{"Volumes": found, "Reservations": [{"Instances": clients}]}]

    def tags(self, volume_id: str) -> dict[str, str]:
        """What a volume is tagged with."""
        [one] = [one for one in self.volumes if one["VolumeId"] == volume_id]
        return {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])}

    def create_tags(self, Resources: list[str], Tags: list[dict[str, str]]) -> None:  # noqa: N803
        if self.refuses:
            raise self.refuses
        for one in self.volumes:
            if one["VolumeId"] in Resources:
                whole = self.tags(one["VolumeId"]) | {tag["Key"]: tag["Value"] for tag in Tags}
                one["Tags"] = [{"Key": key, "Value": value} for key, value in whole.items()]

    def get_instance_profile(self, **_name: Any) -> dict[str, Any]:
        return {"InstanceProfile": {"Roles": [{"RoleName": "nomad-client"}]}}


def have(nomad: FakeNomad, *volumes: dict[str, Any]) -> None:
    """These volumes, and no others."""
    for key in [key for key in nomad.records if key.startswith("volume/")]:
        del nomad.records[key]
    for one in volumes:
        nomad.put(f"volume/csi/{one['ID']}", one)


def run(*words: str) -> None:
    command.COMMAND.run(parsed(command.COMMAND, *words))


def told(*words: str) -> dict[str, Any]:
    """What scripts get."""
    return result_of(run, "--json", *words)


def terraform(folder: Path, version: int = 4, **registration: Any) -> Path:
    attributes = {"volume_id": "ledger", "namespace": "default", "mount_options": [{"mount_flags": ["noatime"]}]}
    resources = [
        _managed("nomad_csi_volume_registration", attributes | registration, index="a"),
        _managed("aws_ebs_volume", {"id": "vol-0000000000000000c"}),
        _managed("nomad_job", {"id": "ebs-nodes"}, module="module.csi"),
        {"mode": "data", "type": "aws_ebs_volume", "name": "read", "instances": [{"attributes": {"id": "vol-1"}}]},
    ]
    path = folder / "terraform.tfstate"
    path.write_text(json.dumps({"version": version, "serial": 3, "lineage": "x", "resources": resources}))
    return path


def _managed(type_: str, attributes: dict[str, Any], *, index: str = "", module: str = "") -> dict[str, Any]:
    instance: dict[str, Any] = {"schema_version": 0, "attributes": attributes}
    instance |= {"index_key": index} if index else {}
    made = {"mode": "managed", "type": type_, "name": "this", "instances": [instance]}
    return made | ({"module": module} if module else {})
