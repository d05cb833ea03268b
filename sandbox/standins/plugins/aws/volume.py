"""aws:ebs/volume:Volume: block storage in one availability zone."""
# ruff: noqa: A001 - the names and signatures are the plugin interface's

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import UNKNOWN, CheckFailure, InitFailed, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.ec2_volume import (
    UPDATE_TIMEOUT_S,
    describe_volume,
    expect_gone,
    try_delete,
    volume_values,
    wait_usable,
)
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, is_set, known
from sandbox.standins.plugins.aws.scope import not_implemented
from sandbox.standins.plugins.aws.tags import from_aws, retag, to_aws
from sandbox.standins.plugins.aws.waits import Wait, wait_until

_CREATE_TIMEOUT_S: Final = 300
_DELETE_TIMEOUT_S: Final = 600
_TYPES: Final = ("gp2", "gp3", "io1", "io2", "sc1", "st1", "standard")
_TYPES_WITH_IOPS: Final = ("gp3", "io1", "io2")
_TYPES_NEEDING_IOPS: Final = ("io1", "io2")
_THROUGHPUT_MIB_S: Final = range(125, 2001)
_INITIALIZATION_MIB_S: Final = range(100, 301)
_AWS_NAMES: Final = {
    "availabilityZone": "AvailabilityZone", "encrypted": "Encrypted", "iops": "Iops", "kmsKeyId": "KmsKeyId",
    "size": "Size", "snapshotId": "SnapshotId", "throughput": "Throughput", "type": "VolumeType",
    "volumeInitializationRate": "VolumeInitializationRate",
}  # fmt: skip


class VolumeResource(AwsResource):
    """Created empty or from a snapshot; grown, retyped and tagged in place; never deleted while attached."""

    token = "aws:ebs/volume:Volume"
    regional = True
    tagged = True
    computed = frozenset({"arn", "createTime"})
    fields: ClassVar = {
        "availabilityZone": Field("string", required=True, replaces=True),
        "encrypted": Field("boolean", computed=True, replaces=True),
        "finalSnapshot": Field("boolean", default=False, fixed=True),
        "iops": Field("integer", computed=True),
        "kmsKeyId": Field("string", computed=True, replaces=True),
        "multiAttachEnabled": Field("boolean", replaces=True, fixed=True),
        "outpostArn": Field("string", replaces=True, fixed=True),
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
        if (arn := known(inputs, "kmsKeyId")) and not arn.startswith("arn:"):
            yield CheckFailure("kmsKeyId", f"({arn}) is an invalid ARN: an ARN starts with 'arn:'")
        if is_set(inputs, "kmsKeyId") and inputs.get("encrypted") in (None, False):
            yield CheckFailure("", "'encrypted' must be true when 'kmsKeyId' is set")
        if inputs.get("type") is not UNKNOWN:
            yield from _type_rules(inputs)
        yield from _initialization_rules(inputs)

    def _zone_rules(self, zone: str, region: str) -> Iterator[CheckFailure]:
        """Yields what is wrong with a zone; AWS itself would say so only once the volume is created."""
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
            wait_usable(ctx, ec2, id, _CREATE_TIMEOUT_S, "create")
            return id, self.outputs_of(id, inputs)
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
            wait_usable(ctx, ec2, id, UPDATE_TIMEOUT_S, "update")
            with aws_errors(f"updating tags of {id}"):
                retag(
                    state,
                    inputs,
                    lambda tags: ec2.create_tags(Resources=[id], Tags=to_aws(tags)),
                    lambda keys: ec2.delete_tags(Resources=[id], Tags=[{"Key": key} for key in keys]),
                )
            return self.outputs_of(id, inputs)
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
            "finalSnapshot": bool(state.get("finalSnapshot")),
            "id": id,
            "region": region,
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        ec2 = self.cloud.ec2(self.region_of(state))
        if state.get("finalSnapshot"):
            raise ProviderError(not_implemented(f"the final snapshot that the state of {id} asks for"))
        wait = Wait(
            f"EBS volume {id} to be detached and deleted",
            "its consumer is stopped and EC2 reports it detached",
            _DELETE_TIMEOUT_S,
        )
        with aws_errors(f"deleting EBS Volume ({id})"):
            if wait_until(ctx, wait, lambda: try_delete(ec2, id)):
                gone = Wait(f"EBS volume {id} to be gone", "EC2 does not list it any more", _DELETE_TIMEOUT_S)
                wait_until(ctx, gone, lambda: expect_gone(ec2, id))

    def _last_known(self, id: str, state: Props) -> Props:
        try:
            return self.find(id, state) or state
        except ProviderError:
            return state

    def _arn(self, region: str, id: str) -> str:
        return self.cloud.arn("ec2", region, self.cloud.account_id(), f"volume/{id}")


def _type_rules(inputs: Props) -> Iterator[CheckFailure]:
    kind = inputs.get("type") or ""
    if kind and kind not in _TYPES:
        yield CheckFailure("type", f"expected one of {', '.join(_TYPES)}")
    if kind in _TYPES_NEEDING_IOPS and not is_set(inputs, "iops"):
        yield CheckFailure("", f"'iops' must be set when 'type' is '{kind}'")
    if kind not in _TYPES_WITH_IOPS and is_set(inputs, "iops"):
        yield CheckFailure("", f"'iops' must not be set when 'type' is '{kind}'")
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
    """Returns the parameters of ModifyVolume; {} when only tags or finalSnapshot differ."""
    changed = _changed(state, inputs)
    if "type" in changed and inputs.get("iops") and inputs["type"] in _TYPES_WITH_IOPS:
        changed.add("iops")  # AWS resets it with the type
    if inputs.get("type", state.get("type")) != "gp3":
        changed.discard("throughput")
    return {_AWS_NAMES[name]: inputs[name] for name in sorted(changed)}
