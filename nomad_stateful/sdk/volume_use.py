"""Resources between a volume and what uses it."""

from collections.abc import Mapping, Sequence
from typing import Required, TypedDict, Unpack

import pulumi

from nomad_stateful.schema.volume_growth import VOLUME_GROWTH
from nomad_stateful.schema.volume_release import VOLUME_RELEASE
from nomad_stateful.sdk.base import NomadCsiResource


class VolumeGrowthInputs(TypedDict, total=False):
    """What VolumeGrowth takes."""

    volume_id: Required[pulumi.Input[str]]
    size_gib: Required[pulumi.Input[int]]
    namespace: pulumi.Input[str] | None
    registration_id: pulumi.Input[str] | None
    mount_flags: pulumi.Input[Sequence[pulumi.Input[str]]] | None
    secrets: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None
    mode: pulumi.Input[str] | None
    timeout_s: pulumi.Input[int] | None


class VolumeGrowth(NomadCsiResource):
    """Grows a volume's file system after the volume, while it is mounted or by a restart of its consumer.

    Give `size_gib` from the volume itself, so that this comes after it, and `restart_id` to the consumer.
    """

    table = VOLUME_GROWTH

    volume_id: pulumi.Output[str]
    size_gib: pulumi.Output[int]
    namespace: pulumi.Output[str]
    registration_id: pulumi.Output[str]
    mount_flags: pulumi.Output[Sequence[str]]
    secrets: pulumi.Output[Mapping[str, str]]
    mode: pulumi.Output[str]
    timeout_s: pulumi.Output[int]
    restart_id: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[VolumeGrowthInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)


class VolumeReleaseInputs(TypedDict, total=False):
    """What VolumeRelease takes."""

    volume_id: Required[pulumi.Input[str]]
    namespace: pulumi.Input[str] | None
    backend: pulumi.Input[str] | None
    external_id: pulumi.Input[str] | None
    region: pulumi.Input[str] | None
    account_id: pulumi.Input[str] | None
    aws_config: pulumi.Input[str] | None
    consumer_job_id: pulumi.Input[str] | None
    registration_id: pulumi.Input[str] | None
    triggers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None
    timeout_s: pulumi.Input[int] | None


class VolumeRelease(NomadCsiResource):
    """Stands between a volume's consumer and its registration; its deletion waits until the volume is released.

    On deletion it waits at most `timeout_s` seconds for Nomad, and with backend "ebs" for EC2 too; a job named by
    `consumer_job_id` that still runs is stopped first. When `triggers` change, it waits until Nomad attaches and
    detaches volumes: the consumer may change then. Make the consumer depend on this resource and this one on the
    registration (`registration_id`), so that a replacement takes them in that order.
    """

    table = VOLUME_RELEASE

    volume_id: pulumi.Output[str]
    namespace: pulumi.Output[str]
    backend: pulumi.Output[str]
    external_id: pulumi.Output[str]
    region: pulumi.Output[str]
    account_id: pulumi.Output[str]
    aws_config: pulumi.Output[str]
    consumer_job_id: pulumi.Output[str]
    registration_id: pulumi.Output[str]
    triggers: pulumi.Output[Mapping[str, str]]
    timeout_s: pulumi.Output[int]
    release_id: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[VolumeReleaseInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)
