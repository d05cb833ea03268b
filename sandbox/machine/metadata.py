"""The instance metadata as a tree, and how a path of the metadata service is answered from it.

It has what Nomad's fingerprint, the drivers and AWS's SDKs read, and what EC2 says before it takes an instance away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

Leaf: TypeAlias = "str | Callable[[], str]"
Tree: TypeAlias = "Mapping[str, Leaf | Tree]"

_VERSION: Final = re.compile(r"latest|1\.0|20\d\d-\d\d-\d\d")


@dataclass(frozen=True)
class InstanceFacts:
    """Everything that an instance's metadata is made of."""

    instance_id: str
    image_id: str
    instance_type: str
    architecture: str
    account_id: str
    region: str
    zone: str
    zone_id: str
    private_ip: str
    dns_name: str
    mac: str
    launch_time: datetime
    life_cycle: str
    profile: tuple[str, str] | None = None
    """The instance profile's ARN and id."""
    role_name: str | None = None
    boot_devices: Mapping[str, str] = field(default_factory=dict)
    """Volumes present at the last boot: ebs1 -> sdf."""
    tags: Mapping[str, str] | None = None
    """None unless the instance's metadata options show its tags."""
    user_data: str | None = None
    endpoint_enabled: bool = True
    token_required: bool = False
    hop_limit: int = 1
    notices: Mapping[str, str] = field(default_factory=dict)
    """What EC2 says before it takes the instance away, by path below meta-data."""


def build(facts: InstanceFacts, credentials: Callable[[], str]) -> Tree:
    """The tree below a version: meta-data, dynamic and user-data; credentials are made when they are read."""
    tree: dict[str, Leaf | Tree] = {
        "dynamic": {"instance-identity": {"document": identity_document(facts)}},
        "meta-data": _meta_data(facts, credentials),
    }
    if facts.user_data is not None:
        tree["user-data"] = facts.user_data
    return tree


def lookup(tree: Tree, path: str) -> str | None:
    """What the service answers for a path like /latest/meta-data/mac; None means 404.

    A folder is answered with its entries, one a line, folders with a slash at the end.
    """
    parts = [part for part in path.split("/") if part]
    if not parts:
        return "1.0\nlatest"
    if not _VERSION.fullmatch(parts[0]):
        return None
    node: Leaf | Tree = tree
    for part in parts[1:]:
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    if isinstance(node, Mapping):
        return _listing(node)
    return node if isinstance(node, str) else node()


def identity_document(facts: InstanceFacts) -> str:
    """The instance identity document (unsigned)."""
    document = {
        "accountId": facts.account_id,
        "architecture": facts.architecture,
        "availabilityZone": facts.zone,
        "billingProducts": None,
        "devpayProductCodes": None,
        "marketplaceProductCodes": None,
        "imageId": facts.image_id,
        "instanceId": facts.instance_id,
        "instanceType": facts.instance_type,
        "kernelId": None,
        "pendingTime": timestamp(facts.launch_time),
        "privateIp": facts.private_ip,
        "ramdiskId": None,
        "region": facts.region,
        "version": "2017-09-30",
    }
    return json.dumps(document, indent=2)


def timestamp(moment: datetime) -> str:
    """A moment (UTC) as AWS writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _listing(node: Tree) -> str:
    # The list of roles is the one folder of EC2's whose entries hold more and yet have no slash; ours are leaves.
    return "\n".join(f"{name}/" if isinstance(node[name], Mapping) else name for name in sorted(node))


def _meta_data(facts: InstanceFacts, credentials: Callable[[], str]) -> Tree:
    tree: dict[str, Leaf | Tree] = {
        "ami-id": facts.image_id,
        "block-device-mapping": {"ami": "/dev/sda1", "root": "/dev/sda1", **facts.boot_devices},
        "events": {"maintenance": {"history": "[]", "scheduled": "[]"}},
        "hostname": facts.dns_name,
        "instance-id": facts.instance_id,
        "instance-life-cycle": facts.life_cycle,
        "instance-type": facts.instance_type,
        "local-hostname": facts.dns_name,
        "local-ipv4": facts.private_ip,
        "mac": facts.mac,
        "network": {"interfaces": {"macs": {facts.mac: {"device-number": "0", "mac": facts.mac}}}},
        "placement": {
            "availability-zone": facts.zone,
            "availability-zone-id": facts.zone_id,
            "region": facts.region,
        },
        "services": {"domain": "amazonaws.com", "partition": "aws"},
    }
    for path, text in facts.notices.items():
        _put(tree, path.split("/"), text)
    if facts.profile is not None:
        tree["iam"] = _iam(facts, facts.profile, credentials)
    if facts.tags is not None:
        tree["tags"] = {"instance": dict(facts.tags)}
    return tree


def _put(tree: dict[str, Leaf | Tree], path: list[str], text: str) -> None:
    """Adds a leaf to folders that may be there already."""
    if len(path) == 1:
        tree[path[0]] = text
        return
    below = tree.get(path[0])
    folder = dict(below) if isinstance(below, Mapping) else {}
    _put(folder, path[1:], text)
    tree[path[0]] = folder


def _iam(facts: InstanceFacts, profile: tuple[str, str], credentials: Callable[[], str]) -> Tree:
    arn, profile_id = profile
    info = {
        "Code": "Success",
        "LastUpdated": timestamp(facts.launch_time),
        "InstanceProfileArn": arn,
        "InstanceProfileId": profile_id,
    }
    roles: Tree = {facts.role_name: credentials} if facts.role_name else {}
    return {"info": json.dumps(info, indent=2), "security-credentials": roles}
