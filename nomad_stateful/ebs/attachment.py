"""EBS volumes and the instances that EC2 has them attached to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace, Ec2Unavailable, ec2_client, is_transient, prove_absence
from nomad_stateful.ebs.filters import in_batches
from nomad_stateful.ebs.tags import GIVEN_UP_TAG
from nomad_stateful.errors import ProviderError

# Nothing is attached in these states, and nothing will be.
_FREE = frozenset({"available", "deleting", "deleted", "not-found"})


def is_ebs_volume(external_id: str) -> bool:
    """Returns whether a storage provider's id is that of an EBS volume."""
    return external_id.startswith("vol-")


@dataclass(frozen=True)
class Attachment:
    """A volume's attachment to one instance."""

    instance_id: str
    device: str
    state: str  # attaching, attached, detaching, busy
    since: str = ""
    """When it began, in UTC; empty where EC2 does not say."""

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return f"{self.instance_id} as {self.device} ({self.state}{since})"


@dataclass(frozen=True)
class EbsState:
    """A volume's state in EC2; `not-found` where there is no such volume."""

    state: str
    attachments: Sequence[Attachment] = ()
    given_up: str = ""
    """When an operator gave it up, because its zone is lost: nothing waits for it any more."""

    @property
    def is_free(self) -> bool:
        return self.state in _FREE

    def __str__(self) -> str:
        return f"attached to {', '.join(map(str, self.attachments))}" if self.attachments else self.state


class EbsVolumes:
    """EC2's volumes and instances, in one account and region."""

    def __init__(self, place: AwsPlace) -> None:
        self._place = place
        self._client: Any = ec2_client(place)

    def state(self, volume_id: str) -> EbsState:
        """Returns the volume's state now. Raises Ec2Unavailable for a transient error, ProviderError for any other.

        "Not found" means deleted only in the volume's own account.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            volume = self._client.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "InvalidVolume.NotFound":
                prove_absence(self._place, f"volume {volume_id}")
                return EbsState("not-found")
            if is_transient(error):
                raise Ec2Unavailable(f"EC2 does not say whether {volume_id} is detached: {error}") from error
            raise ProviderError(
                f"EC2 does not say whether {volume_id} is detached: {error}. Allow ec2:DescribeVolumes"
            ) from error
        except BotoCoreError as error:
            failure = Ec2Unavailable if is_transient(error) else ProviderError
            raise failure(
                f"EC2 does not say whether {volume_id} is detached: {error}. Check the AWS credentials, the region "
                "and the endpoint"
            ) from error
        attachments = [
            Attachment(item.get("InstanceId", "?"), item.get("Device", "?"), item.get("State", "?"), _since(item))
            for item in volume.get("Attachments") or []
        ]
        return EbsState(volume["State"], attachments, tags.read(volume).get(GIVEN_UP_TAG, ""))

    def detach(self, volume_id: str, instance_id: str) -> None:
        """Asks EC2 to detach the volume, without force: it waits for an unmount. Raises ProviderError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._client.detach_volume(VolumeId=volume_id, InstanceId=instance_id)
        except (ClientError, BotoCoreError) as error:
            raise ProviderError(
                f"EC2 does not detach {volume_id} from {instance_id}: {error}. Allow ec2:DetachVolume, or run `aws ec2 "
                f"detach-volume --volume-id {volume_id} --instance-id {instance_id}` with credentials that may"
            ) from error

    def attached_to(self, instance_id: str) -> list[str]:
        """Returns the ids of the volumes attached to an instance, its root volume too. Raises ProviderError."""
        from botocore.exceptions import BotoCoreError, ClientError

        filters = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
        try:
            pages = self._client.get_paginator("describe_volumes").paginate(Filters=filters)
            return sorted(volume["VolumeId"] for page in pages for volume in page["Volumes"])
        except (ClientError, BotoCoreError) as error:
            raise ProviderError(
                f"EC2 does not say what is attached to {instance_id}: {error}. Allow ec2:DescribeVolumes"
            ) from error

    def instance_states(self, instance_ids: Sequence[str]) -> dict[str, str]:
        """Returns the state of each instance now; `not-found` where EC2 no longer has it. Raises ProviderError."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            # A filter, unlike ids, is not refused when one of them is gone.
            answers = [self._client.describe_instances(Filters=one) for one in in_batches("instance-id", instance_ids)]
        except (ClientError, BotoCoreError) as error:
            raise ProviderError(
                f"EC2 does not say whether {', '.join(instance_ids)} runs: {error}. Allow ec2:DescribeInstances"
            ) from error
        reservations = [one for answer in answers for one in answer["Reservations"]]
        found = {item["InstanceId"]: item["State"]["Name"] for one in reservations for item in one["Instances"]}
        if missing := [instance_id for instance_id in instance_ids if instance_id not in found]:
            prove_absence(self._place, f"instance {', '.join(missing)}")
        return {instance_id: found.get(instance_id, "not-found") for instance_id in instance_ids}


def _since(attachment: Mapping[str, Any]) -> str:
    began = attachment.get("AttachTime")
    return began.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if began else ""
