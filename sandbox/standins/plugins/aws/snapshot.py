"""aws:ebs/snapshot:Snapshot: a volume's content at one moment."""
# ruff: noqa: A001 - the names and signatures are the plugin interface's

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, InitFailed, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_values import retag
from sandbox.standins.plugins.aws.errors import aws_errors, error_code
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, known
from sandbox.standins.plugins.aws.tags import from_aws, plain_tags, to_aws
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_TIMEOUT_S: Final = 600
_RATE_LIMIT_TIMEOUT_S: Final = 60
_TIERS: Final = ("archive", "standard")


class SnapshotResource(AwsResource):
    """Taken once and awaited; afterwards only its tags and its storage tier change."""

    token = "aws:ebs/snapshot:Snapshot"
    regional = True
    tagged = True
    computed = frozenset({"arn", "dataEncryptionKeyId", "encrypted", "kmsKeyId", "ownerAlias", "ownerId", "volumeSize"})
    fields: ClassVar = {
        "description": Field("string", replaces=True),
        "outpostArn": Field("string", replaces=True),
        "permanentRestore": Field("boolean"),
        "region": Field("string", computed=True, replaces=True),
        "storageTier": Field("string", computed=True),
        "tags": Field("tags"),
        "temporaryRestoreDays": Field("integer"),
        "volumeId": Field("string", required=True, replaces=True),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        tier = known(inputs, "storageTier")
        if tier and tier not in _TIERS:
            yield CheckFailure("storageTier", f"expected one of {', '.join(_TIERS)}")
        if (arn := known(inputs, "outpostArn")) and not arn.startswith("arn:"):
            yield CheckFailure("outpostArn", f"({arn}) is an invalid ARN: an ARN starts with 'arn:'")

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        region, volume_id = self.region_of(inputs), inputs["volumeId"]
        ec2 = self.cloud.ec2(region)
        wanted = {
            "Description": inputs.get("description"),
            "OutpostArn": inputs.get("outpostArn"),
        }
        with aws_errors(f"creating EBS Snapshot ({volume_id})"):
            id = _take(ctx, ec2, volume_id, inputs.get("tagsAll") or {}, wanted)
        try:
            with aws_errors(f"waiting for EBS Snapshot ({id}) create"):
                _wait_completed(ctx, ec2, id)
            if inputs.get("storageTier") == "archive":
                _archive(ctx, ec2, id)
            return id, self._outputs_of(id, inputs)
        except ProviderError as error:
            raise InitFailed(id, self.plain(inputs) | {"id": id}, [str(error)], inputs) from None

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        ec2 = self.cloud.ec2(self.region_of(inputs))
        with aws_errors(f"waiting for EBS Snapshot ({id}) create"):
            _wait_completed(ctx, ec2, id)  # an earlier creation may have been interrupted
        tier = inputs.get("storageTier")
        if tier and tier != state.get("storageTier"):
            if tier == "archive":
                _archive(ctx, ec2, id)
            else:
                _restore(ec2, id, inputs)
        retag(ec2, id, state.get("tagsAll"), inputs.get("tagsAll"))
        return self._outputs_of(id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        region = self.region_of(state)
        with aws_errors(f"reading EBS Snapshot ({id})"):
            found = _describe(self.cloud.ec2(region), id)
        if found is None:
            return None
        kept: Props = {name: state[name] for name in ("permanentRestore", "temporaryRestoreDays") if name in state}
        return {
            **kept,
            **self.tag_outputs(from_aws(found.get("Tags")), state),
            **snapshot_values(found),
            "arn": self.cloud.arn("ec2", region, "", f"snapshot/{id}"),
            "region": region,
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        ec2 = self.cloud.ec2(self.region_of(state))

        def probe() -> None:
            try:
                ec2.delete_snapshot(SnapshotId=id)
            except ClientError as error:
                if error_code(error) == "InvalidSnapshot.InUse":
                    raise NotYet(f"InvalidSnapshot.InUse: {error.response['Error'].get('Message', '')}") from None
                if error_code(error) != "InvalidSnapshot.NotFound":
                    raise

        wait = Wait(f"EBS snapshot {id} to be deleted", "nothing, such as an AMI, uses it any more", _TIMEOUT_S)
        with aws_errors(f"deleting EBS Snapshot ({id})"):
            wait_until(ctx, wait, probe)

    def _outputs_of(self, id: str, inputs: Props) -> Props:
        outputs = self.find(id, inputs)
        if outputs is None:
            raise ProviderError(f"reading EBS Snapshot ({id}): it vanished while it was being worked on")
        return outputs


def take_final(ctx: Context, ec2: EC2Client, volume_id: str, tags: Mapping[str, str]) -> None:
    """Takes a volume's last snapshot before the volume is deleted, and waits for it; a volume that is gone has none."""
    with aws_errors(f"creating final EBS Snapshot of volume ({volume_id})"):
        try:
            id = _take(ctx, ec2, volume_id, plain_tags(tags), {})
        except ClientError as error:
            if error_code(error) == "InvalidVolume.NotFound":
                return
            raise
        _wait_completed(ctx, ec2, id)
    ctx.log("info", f"the final snapshot of {volume_id} is {id}")


def _take(
    ctx: Context, ec2: EC2Client, volume_id: str, tags: Mapping[str, str], wanted: Mapping[str, str | None]
) -> str:
    request: dict[str, Any] = {key: value for key, value in wanted.items() if value}
    if tags:
        request["TagSpecifications"] = [{"ResourceType": "snapshot", "Tags": to_aws(tags)}]

    def probe() -> str:
        try:
            return ec2.create_snapshot(VolumeId=volume_id, **request)["SnapshotId"]
        except ClientError as error:
            if error_code(error) == "SnapshotCreationPerVolumeRateExceeded":
                raise NotYet("SnapshotCreationPerVolumeRateExceeded") from None
            raise

    wait = Wait(f"a snapshot of {volume_id} to be started", "AWS's rate limit lets it through", _RATE_LIMIT_TIMEOUT_S)
    return wait_until(ctx, wait, probe, abandon=False)


def snapshot_values(snapshot: Mapping[str, Any]) -> Props:
    """Returns EC2's description as the properties of a snapshot that need no configuration."""
    return {
        "dataEncryptionKeyId": snapshot.get("DataEncryptionKeyId") or "",
        "description": snapshot.get("Description") or "",
        "encrypted": bool(snapshot.get("Encrypted")),
        "id": snapshot["SnapshotId"],
        "kmsKeyId": snapshot.get("KmsKeyId") or "",
        "outpostArn": snapshot.get("OutpostArn") or "",
        "ownerAlias": snapshot.get("OwnerAlias") or "",
        "ownerId": snapshot.get("OwnerId") or "",
        "storageTier": snapshot.get("StorageTier") or "standard",
        "volumeId": snapshot.get("VolumeId") or "",
        "volumeSize": snapshot.get("VolumeSize") or 0,
    }


def _describe(ec2: EC2Client, id: str) -> Mapping[str, Any] | None:
    try:
        snapshots = ec2.describe_snapshots(SnapshotIds=[id])["Snapshots"]
    except ClientError as error:
        if error_code(error) == "InvalidSnapshot.NotFound":
            return None
        raise
    return snapshots[0] if snapshots else None


def _wait_completed(ctx: Context, ec2: EC2Client, id: str) -> None:
    def probe() -> None:
        found = _describe(ec2, id) or {}
        if found.get("State") == "error":
            raise ProviderError(f"EC2 reports an error: {found.get('StateMessage') or 'no reason given'}")
        if found.get("State") != "completed":
            raise NotYet(f"EC2 reports it {found.get('State', 'unknown')}, {found.get('Progress', '0%')}")

    wait_until(ctx, Wait(f"EBS snapshot {id} to be completed", "EC2 reports it completed", _TIMEOUT_S), probe)


def _archive(ctx: Context, ec2: EC2Client, id: str) -> None:
    def probe() -> None:
        filters: Any = [{"Name": "snapshot-id", "Values": [id]}]
        statuses = ec2.describe_snapshot_tier_status(Filters=filters)["SnapshotTierStatuses"]
        status = statuses[0] if statuses else None
        if status is None or status.get("StorageTier") != "archive":
            raise NotYet(f"{(status or {}).get('LastTieringProgress', 0)} % archived")

    with aws_errors(f"updating EBS Snapshot ({id}) storage tier"):
        ec2.modify_snapshot_tier(SnapshotId=id, StorageTier="archive")
        wait_until(ctx, Wait(f"EBS snapshot {id} to be archived", "EC2 reports it in tier archive", _TIMEOUT_S), probe)


def _restore(ec2: EC2Client, id: str, inputs: Props) -> None:
    request: dict[str, Any] = {"SnapshotId": id}
    if inputs.get("permanentRestore"):
        request["PermanentRestore"] = True
    elif inputs.get("temporaryRestoreDays"):
        request["TemporaryRestoreDays"] = inputs["temporaryRestoreDays"]
    with aws_errors(f"updating EBS Snapshot ({id}) storage tier"):
        ec2.restore_snapshot_tier(**request)
