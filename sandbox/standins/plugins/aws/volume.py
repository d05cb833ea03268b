"""aws:ebs/volume:Volume: block storage in one availability zone."""
# ruff: noqa: A001, A002, ARG002 - the names and signatures are the plugin interface's

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from botocore.exceptions import ClientError

from nomad_stateful.plugin_server.plugin import UNKNOWN, CheckFailure, Context, InitFailed, Props, ProviderError
from sandbox.standins.plugins.aws import snapshot
from sandbox.standins.plugins.aws.ec2_values import retag, rfc3339
from sandbox.standins.plugins.aws.errors import aws_errors, error_code
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, is_set, known
from sandbox.standins.plugins.aws.tags import from_aws, to_aws
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_CREATE_TIMEOUT_S: Final = 300
_UPDATE_TIMEOUT_S: Final = 300
_DELETE_TIMEOUT_S: Final = 600
_NOT_LISTED_S: Final = 60  # a volume just made that EC2 does not list for longer is gone
_TYPES: Final = ("gp2", "gp3", "io1", "io2", "sc1", "st1", "standard")
_TYPES_WITH_IOPS: Final = ("gp3", "io1", "io2")
_TYPES_NEEDING_IOPS: Final = ("io1", "io2")
_THROUGHPUT_MIB_S: Final = range(125, 2001)
_INITIALIZATION_MIB_S: Final = range(100, 301)
_AWS_NAMES: Final = {
    "availabilityZone": "AvailabilityZone", "encrypted": "Encrypted", "iops": "Iops", "kmsKeyId": "KmsKeyId",
    "multiAttachEnabled": "MultiAttachEnabled", "outpostArn": "OutpostArn", "size": "Size", "snapshotId": "SnapshotId",
    "throughput": "Throughput", "type": "VolumeType", "volumeInitializationRate": "VolumeInitializationRate",
}  # fmt: skip


class VolumeResource(AwsResource):
    """Created empty or from a snapshot; grown, retyped and tagged in place; never deleted while attached."""

    token = "aws:ebs/volume:Volume"  # noqa: S105 - a name
    regional = True
    tagged = True
    computed = frozenset({"arn", "createTime"})
    fields: ClassVar = {
        "availabilityZone": Field("string", required=True, replaces=True),
        "encrypted": Field("boolean", computed=True, replaces=True),
        "finalSnapshot": Field("boolean", default=False),
        "iops": Field("integer", computed=True),
        "kmsKeyId": Field("string", computed=True, replaces=True),
        "multiAttachEnabled": Field("boolean", replaces=True),
        "outpostArn": Field("string", replaces=True),
        "region": Field("string", computed=True, replaces=True),
        "size": Field("integer", computed=True),
        "snapshotId": Field("string", computed=True, replaces=True),
        "tags": Field("tags"),
        "throughput": Field("integer", computed=True),
        "type": Field("string", computed=True),
        "volumeInitializationRate": Field("integer"),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        zone, region = known(inputs, "availabilityZone"), known(inputs, "region")
        if zone and region:
            yield from self._zone_rules(zone, region)
        if not is_set(inputs, "size") and not is_set(inputs, "snapshotId"):
            yield CheckFailure("", "one of `size,snapshot_id` must be specified (size, in GiB, or snapshotId)")
        size = known(inputs, "size")
        if size is not None and size < 1:
            yield CheckFailure("size", "a volume has at least 1 GiB")
        for name in ("kmsKeyId", "outpostArn"):
            if (arn := known(inputs, name)) and not arn.startswith("arn:"):
                yield CheckFailure(name, f"({arn}) is an invalid ARN: an ARN starts with 'arn:'")
        if is_set(inputs, "kmsKeyId") and inputs.get("encrypted") in (None, False):
            yield CheckFailure("", "'encrypted' must be true when 'kmsKeyId' is set")
        if inputs.get("type") is not UNKNOWN:
            yield from _type_rules(inputs)
        yield from _initialization_rules(inputs)

    def _zone_rules(self, zone: str, region: str) -> Iterator[CheckFailure]:
        """Yield what is wrong with a zone; AWS itself would say so only once the volume is created."""
        if not zone.startswith(region):
            yield CheckFailure("availabilityZone", f"zone '{zone}' is not in region '{region}'")
        elif (zones := self.cloud.zones(region)) and zone not in zones:
            yield CheckFailure("availabilityZone", f"region '{region}' has no zone '{zone}': use {', '.join(zones)}")

    # -- life -----------------------------------------------------------------------------------------------------

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        region = self.region_of(inputs)
        ec2 = self.cloud.ec2(region)
        wanted: dict[str, Any] = {_AWS_NAMES[k]: v for k, v in inputs.items() if k in _AWS_NAMES and v}
        if inputs.get("tagsAll"):
            wanted["TagSpecifications"] = [{"ResourceType": "volume", "Tags": to_aws(inputs["tagsAll"])}]
        with aws_errors("creating EBS Volume"):
            id = ec2.create_volume(**wanted, ClientToken=str(uuid.uuid4()))["VolumeId"]
        try:
            _wait_usable(ctx, ec2, id, _CREATE_TIMEOUT_S, "create")
            return id, self._outputs_of(id, inputs)
        except ProviderError as error:
            partial = self.plain(inputs) | {"id": id, "arn": self._arn(region, id)}
            raise InitFailed(id, partial, [str(error)], inputs) from None

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        planned = super().preview_update(ctx, id, state, inputs)
        if inputs.get("type", state.get("type")) != state.get("type") or "size" in _changed(state, inputs):
            # a new type, and on gp2 a new size, bring their own performance
            planned |= {name: UNKNOWN for name in ("iops", "throughput") if name not in inputs}
        return planned

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        ec2 = self.cloud.ec2(self.region_of(inputs))
        wanted = _modification(state, inputs)
        if wanted:
            with aws_errors(f"updating EBS Volume ({id})"):
                ec2.modify_volume(VolumeId=id, **wanted)
        try:
            if wanted:
                _wait_modified(ctx, ec2, id)
            _wait_usable(ctx, ec2, id, _UPDATE_TIMEOUT_S, "update")
            retag(ec2, id, state.get("tagsAll"), inputs.get("tagsAll"))
            return self._outputs_of(id, inputs)
        except ProviderError as error:
            # what AWS has by now, so that the next update starts from the truth
            partial = self._last_known(id, state)
            raise InitFailed(id, partial, [str(error)], inputs) from None

    def find(self, id: str, state: Props) -> Props | None:
        region = self.region_of(state)
        with aws_errors(f"reading EBS Volume ({id})"):
            volume = describe_volume(self.cloud.ec2(region), id)
        if volume is None or volume.get("State") in ("deleting", "deleted"):
            return None
        return {
            **volume_values(volume),
            **self.tag_outputs(from_aws(volume.get("Tags")), state),
            "arn": self._arn(region, id),
            "finalSnapshot": state.get("finalSnapshot", False),
            "id": id,
            "region": region,
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        ec2 = self.cloud.ec2(self.region_of(state))
        if state.get("finalSnapshot"):
            snapshot.take_final(ctx, ec2, id, state.get("tagsAll") or {})
        wait = Wait(
            f"EBS volume {id} to be detached and deleted",
            "its consumer is stopped and EC2 reports it detached",
            _DELETE_TIMEOUT_S,
        )
        with aws_errors(f"deleting EBS Volume ({id})"):
            if wait_until(ctx, wait, lambda: _try_delete(ec2, id)):
                gone = Wait(f"EBS volume {id} to be gone", "EC2 does not list it any more", _DELETE_TIMEOUT_S)
                wait_until(ctx, gone, lambda: _expect_gone(ec2, id))

    def _outputs_of(self, id: str, inputs: Props) -> Props:
        outputs = self.find(id, inputs)
        if outputs is None:
            raise ProviderError(f"reading EBS Volume ({id}): it vanished while it was being worked on")
        return outputs

    def _last_known(self, id: str, state: Props) -> Props:
        try:
            return self.find(id, state) or state
        except ProviderError:
            return state

    def _arn(self, region: str, id: str) -> str:
        return self.cloud.arn("ec2", region, self.cloud.account_id(), f"volume/{id}")


def describe_volume(ec2: EC2Client, id: str) -> Mapping[str, Any] | None:
    """Return EC2's description of a volume, None when there is none."""
    try:
        volumes = ec2.describe_volumes(VolumeIds=[id])["Volumes"]
    except ClientError as error:
        if error_code(error) == "InvalidVolume.NotFound":
            return None
        raise
    return volumes[0] if volumes else None


def volume_values(volume: Mapping[str, Any]) -> Props:
    """Return EC2's description as the properties of a volume that need no configuration."""
    return {
        "availabilityZone": volume.get("AvailabilityZone") or "",
        "createTime": rfc3339(volume["CreateTime"]),
        "encrypted": bool(volume.get("Encrypted")),
        "iops": volume.get("Iops") or 0,
        "kmsKeyId": volume.get("KmsKeyId") or "",
        "multiAttachEnabled": bool(volume.get("MultiAttachEnabled")),
        "outpostArn": volume.get("OutpostArn") or "",
        "size": volume.get("Size") or 0,
        "snapshotId": volume.get("SnapshotId") or "",
        "throughput": volume.get("Throughput") or 0,
        "type": volume.get("VolumeType") or "",
        "volumeInitializationRate": volume.get("VolumeInitializationRate") or 0,
    }


def _type_rules(inputs: Props) -> Iterator[CheckFailure]:
    kind = inputs.get("type") or ""
    if kind and kind not in _TYPES:
        yield CheckFailure("type", f"expected one of {', '.join(_TYPES)}")
    if kind in _TYPES_NEEDING_IOPS and not is_set(inputs, "iops"):
        yield CheckFailure("", f"'iops' must be set when 'type' is '{kind}'")
    if kind not in _TYPES_WITH_IOPS and is_set(inputs, "iops"):
        yield CheckFailure("", f"'iops' must not be set when 'type' is '{kind}'")
    if kind not in _TYPES_NEEDING_IOPS and is_set(inputs, "multiAttachEnabled"):
        yield CheckFailure("", f"'multi_attach_enabled' must not be set when 'type' is '{kind}'")
    if kind != "gp3" and is_set(inputs, "throughput"):
        yield CheckFailure("", f"'throughput' must not be set when 'type' is '{kind}'")
    throughput = known(inputs, "throughput")
    if throughput and throughput not in _THROUGHPUT_MIB_S:
        yield CheckFailure("throughput", "expected 125 to 2000 MiB/s")


def _initialization_rules(inputs: Props) -> Iterator[CheckFailure]:
    if not is_set(inputs, "volumeInitializationRate"):
        return
    if not is_set(inputs, "snapshotId"):
        yield CheckFailure("", "'volume_initialization_rate' must not be set unless 'snapshot_id' is set")
    rate = known(inputs, "volumeInitializationRate")
    if rate and rate not in _INITIALIZATION_MIB_S:
        yield CheckFailure("volumeInitializationRate", "expected 100 to 300 MiB/s")


def _changed(state: Props, inputs: Props) -> set[str]:
    fields = ("iops", "size", "throughput", "type")
    return {name for name in fields if inputs.get(name) and inputs[name] != state.get(name)}


def _modification(state: Props, inputs: Props) -> dict[str, Any]:
    """Return the parameters of ModifyVolume; {} when only tags or finalSnapshot differ."""
    changed = _changed(state, inputs)
    if "type" in changed and inputs.get("iops") and inputs["type"] in _TYPES_WITH_IOPS:
        changed.add("iops")  # AWS resets it with the type
    if inputs.get("type", state.get("type")) != "gp3":
        changed.discard("throughput")
    return {_AWS_NAMES[name]: inputs[name] for name in sorted(changed)}


def _wait_usable(ctx: Context, ec2: EC2Client, id: str, timeout_s: float, doing: str) -> None:
    listed_by = time.monotonic() + _NOT_LISTED_S

    def probe() -> None:
        volume = describe_volume(ec2, id)
        if volume is None and doing == "create" and time.monotonic() < listed_by:
            raise NotYet("EC2 does not list it yet")
        state = volume.get("State", "") if volume else "gone"
        if state in ("creating", "modifying"):
            raise NotYet(f"EC2 reports it {state}")
        if state not in ("available", "in-use"):
            hint = " (for an encrypted volume: may the key be used?)" if doing == "create" else ""
            raise ProviderError(f"EC2 reports it {state}{hint}")

    wait = Wait(f"EBS volume {id} to be usable", "EC2 reports it available", timeout_s)
    with aws_errors(f"waiting for EBS Volume ({id}) {doing}"):
        wait_until(ctx, wait, probe)


def _wait_modified(ctx: Context, ec2: EC2Client, id: str) -> None:
    """Wait until DescribeVolumes shows the change; the optimising that follows takes hours and is not awaited."""

    def probe() -> None:
        try:
            modifications = ec2.describe_volumes_modifications(VolumeIds=[id])["VolumesModifications"]
        except ClientError as error:
            if error_code(error) in ("UnauthorizedOperation", "InvalidVolumeModification.NotFound"):
                return  # the policy of the caller, or nothing to wait for
            raise
        latest = max(modifications, key=lambda item: str(item.get("StartTime", "")), default=None)
        state = latest.get("ModificationState") if latest else None
        if state == "failed":
            raise ProviderError(f"AWS could not modify it: {(latest or {}).get('StatusMessage', 'no reason given')}")
        if state == "modifying":
            raise NotYet("EC2 reports the modification as modifying")

    wait = Wait(f"the modification of EBS volume {id}", "EC2 reports it optimizing or completed", _UPDATE_TIMEOUT_S)
    with aws_errors(f"waiting for EBS Volume ({id}) update"):
        wait_until(ctx, wait, probe)


def _try_delete(ec2: EC2Client, id: str) -> bool:
    """Delete a volume; False when it was gone already, NotYet while it is attached."""
    try:
        ec2.delete_volume(VolumeId=id)
    except ClientError as error:
        if error_code(error) == "InvalidVolume.NotFound":
            return False
        if error_code(error) == "VolumeInUse":
            raise NotYet(f"VolumeInUse: {_attachment(ec2, id)}") from None
        raise
    return True


def _attachment(ec2: EC2Client, id: str) -> str:
    attached = (describe_volume(ec2, id) or {}).get("Attachments") or []
    places = [f"{item.get('State')} to {item.get('InstanceId')} as {item.get('Device')}" for item in attached]
    return ", ".join(places) or "EC2 does not say what holds it"


def _expect_gone(ec2: EC2Client, id: str) -> None:
    volume = describe_volume(ec2, id)
    if volume is not None and volume.get("State") != "deleted":
        raise NotYet(f"EC2 reports it {volume.get('State')}")
