"""What EC2 asks IAM about a call: each action with the resource it is about and the tags that conditions can name.

moto's API asks nobody; this is recorded so that a policy can be judged by what was really called.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

Params = Mapping[str, str]
Tags = dict[str, str]

_INDEXED_TAG: Final = re.compile(r"^(?P<list>(?:TagSpecification\.\d+\.)?Tag\.\d+)\.Key$")


class Resources(Protocol):
    """What EC2 knows of resources at the moment of a call."""

    def tags(self, resource_id: str) -> Tags:
        """Tags of a resource; none when there is no such resource."""

    def attached_to(self, volume_id: str) -> str:
        """Id of the instance a volume is attached to, or ""."""


@dataclass(frozen=True)
class Question:
    """May the caller do this action on this resource? EC2 asks all questions of a call, and each must be allowed."""

    action: str
    resource: str
    """ARN, ending in ``/*`` for a resource that is yet to be made; ``*`` where the action knows no resources."""
    resource_tags: Tags = field(default_factory=dict)
    request_tags: Tags = field(default_factory=dict)
    create_action: str = ""
    """For ec2:CreateTags: the call that makes what is tagged; empty for tagging what is there."""


@dataclass(frozen=True)
class Account:
    """Whose resources they are, and where."""

    partition: str
    region: str
    account_id: str

    def arn(self, kind: str, resource_id: str) -> str:
        """The ARN of an EC2 resource."""
        # Snapshots and images can belong to anybody: their ARNs name no account.
        owner = "" if kind in {"snapshot", "image"} else self.account_id
        return f"arn:{self.partition}:ec2:{self.region}:{owner}:{kind}/{resource_id}"


class Questions:
    """Tells what EC2 would ask about a call."""

    def __init__(self, account: Account, resources: Resources) -> None:
        self._account = account
        self._resources = resources
        self._by_action: dict[str, Callable[[Params], list[Question]]] = {
            "AttachVolume": self._attach,
            "DetachVolume": self._attach,
            "DeleteVolume": self._on_volume,
            "ModifyVolume": self._on_volume,
            "CreateVolume": self._create_volume,
            "CreateSnapshot": self._create_snapshot,
            "DeleteSnapshot": lambda params: [self._on("snapshot", params["SnapshotId"])],
            "CreateTags": self._tag,
            "DeleteTags": self._tag,
        }

    def of(self, action: str, params: Params) -> list[Question] | None:
        """The questions about a call before it is carried out; None for one that is not known here."""
        if action.startswith("Describe"):
            return [Question(f"ec2:{action}", "*")]
        ask = self._by_action.get(action)
        try:
            questions = ask(params) if ask else None
        except KeyError:
            # A parameter is missing: EC2 refuses the call before it asks.
            return None
        return questions and [replace(one, action=one.action or f"ec2:{action}") for one in questions]

    def _on(self, kind: str, resource_id: str, request_tags: Tags | None = None) -> Question:
        tags = self._resources.tags(resource_id)
        return Question("", self._account.arn(kind, resource_id), tags, request_tags or {})

    def _new(self, kind: str, tags: Tags) -> Question:
        return Question("", self._account.arn(kind, "*"), {}, tags)

    def _on_volume(self, params: Params) -> list[Question]:
        return [self._on("volume", params["VolumeId"])]

    def _attach(self, params: Params) -> list[Question]:
        volume_id = params["VolumeId"]
        instance_id = params.get("InstanceId") or self._resources.attached_to(volume_id)
        instance = [self._on("instance", instance_id)] if instance_id else []
        return [self._on("volume", volume_id), *instance]

    def _create_volume(self, params: Params) -> list[Question]:
        tags = tags_in(params)
        snapshot_id = params.get("SnapshotId")
        source = [self._on("snapshot", snapshot_id, tags)] if snapshot_id else []
        return [self._new("volume", tags), *source, *self._tagging("volume", tags, "CreateVolume")]

    def _create_snapshot(self, params: Params) -> list[Question]:
        tags = tags_in(params)
        volume = self._on("volume", params["VolumeId"], tags)
        return [volume, self._new("snapshot", tags), *self._tagging("snapshot", tags, "CreateSnapshot")]

    def _tagging(self, kind: str, tags: Tags, create_action: str) -> list[Question]:
        if not tags:
            return []
        return [Question("ec2:CreateTags", self._account.arn(kind, "*"), {}, tags, create_action)]

    def _tag(self, params: Params) -> list[Question]:
        ids = [value for name, value in sorted(params.items()) if re.fullmatch(r"ResourceId\.\d+", name)]
        tags = tags_in(params)
        kinds = {"vol": "volume", "snap": "snapshot", "i": "instance"}
        return [self._on(kinds[one.partition("-")[0]], one, tags) for one in ids]


def tags_in(params: Params) -> Tags:
    """The tags that a call carries."""
    found = (_INDEXED_TAG.match(name) for name in params)
    return {params[match[0]]: params.get(f"{match['list']}.Value", "") for match in found if match}
