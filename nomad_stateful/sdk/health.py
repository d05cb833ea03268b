"""Resources that exist once something runs and is healthy."""

from collections.abc import Mapping, Sequence
from typing import Required, TypedDict, Unpack

import pulumi

from nomad_stateful.schema.job_health import JOB_HEALTH
from nomad_stateful.schema.plugin_health import PLUGIN_HEALTH
from nomad_stateful.sdk.base import NomadCsiResource


class PluginHealthInputs(TypedDict, total=False):
    """What PluginHealth takes."""

    plugin_id: Required[pulumi.Input[str]]
    controllers: pulumi.Input[int] | None
    zones: pulumi.Input[Sequence[pulumi.Input[str]]] | None
    zone_keys: pulumi.Input[Sequence[pulumi.Input[str]]] | None
    timeout_s: pulumi.Input[int] | None
    triggers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None


class PluginHealth(NomadCsiResource):
    """Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone that needs one.

    Waits at most `timeout_s` seconds, and again when `triggers` change.
    """

    table = PLUGIN_HEALTH

    plugin_id: pulumi.Output[str]
    controllers: pulumi.Output[int]
    zones: pulumi.Output[Sequence[str]]
    zone_keys: pulumi.Output[Sequence[str]]
    timeout_s: pulumi.Output[int]
    triggers: pulumi.Output[Mapping[str, str]]
    provider: pulumi.Output[str]
    provider_version: pulumi.Output[str]
    topology_key: pulumi.Output[str]
    topology_keys: pulumi.Output[Sequence[str]]
    controllers_healthy: pulumi.Output[int]
    nodes_healthy: pulumi.Output[int]
    zones_healthy: pulumi.Output[Mapping[str, int]]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[PluginHealthInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)


class JobHealthInputs(TypedDict, total=False):
    """What JobHealth takes."""

    job_id: Required[pulumi.Input[str]]
    group: Required[pulumi.Input[str]]
    namespace: pulumi.Input[str] | None
    allocations: pulumi.Input[int] | None
    triggers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None
    region: pulumi.Input[str] | None
    account_id: pulumi.Input[str] | None
    aws_config: pulumi.Input[str] | None
    timeout_s: pulumi.Input[int] | None
    owner_id: pulumi.Input[str] | None


class JobHealth(NomadCsiResource):
    """Exists once the newest version of a job runs and passes its checks.

    Waits at most `timeout_s` seconds until `allocations` of `group` are healthy, and again when `triggers` change. With
    `account_id`, EBS volumes of the job that are attached where nothing claims or uses them are detached.
    """

    table = JOB_HEALTH

    job_id: pulumi.Output[str]
    group: pulumi.Output[str]
    namespace: pulumi.Output[str]
    allocations: pulumi.Output[int]
    triggers: pulumi.Output[Mapping[str, str]]
    region: pulumi.Output[str]
    account_id: pulumi.Output[str]
    aws_config: pulumi.Output[str]
    timeout_s: pulumi.Output[int]
    owner_id: pulumi.Output[str]
    allocation_id: pulumi.Output[str]
    node_name: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[JobHealthInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)
