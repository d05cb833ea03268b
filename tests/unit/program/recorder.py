"""The program's resources, recorded instead of made."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pulumi
from pulumi.runtime import mocks

from nomad_stateful.components.zonal_volumes import Adopted
from nomad_stateful.program import plan, settings, story
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.plan.model import Plan
from nomad_stateful.program.wiring.values import Values

ENVIRONMENT = Environment(
    account_id="123456789012",
    partition="aws",
    region="us-west-2",
    stack="nomad-stateful/test",
    claimant="org/nomad-stateful/test",
)
PASSWORD = "drawn-by-the-provider"
SHARED: dict[str, Any] = {
    "name": "shared",
    "provision": "existing",
    "externalId": "fs-0123456789abcdef0",
    "accessMode": "multi-node-multi-writer",
    "fsType": "",
}
"""A volume of an EFS that is there."""


Resources = dict[str, mocks.MockResourceArgs]
"""What a program registers, by logical name."""


class Recorder(mocks.Mocks):
    """Keeps every registration; answers with the inputs and the outputs that others depend on."""

    def __init__(self) -> None:
        self.resources: Resources = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        self.resources[args.name] = args
        outputs_by_type: dict[str, dict[str, Any]] = {
            "nomad:index/job:Job": {"modifyIndex": "7"},
            "aws:ebs/volume:Volume": {
                "arn": f"arn:aws:ec2:us-west-2:123456789012:volume/{args.name}-id",
                # As it is read while EC2 still changes it: the aws provider does not wait for that.
                "size": args.inputs.get("size", 0) - 1,
            },
            "nomad-csi:index:PluginHealth": {
                "topologyKey": "topology.ebs.csi.aws.com/zone",
                "provider": "ebs.csi.aws.com",
                "providerVersion": "v1.48.0",
                "controllersHealthy": 2,
                "nodesHealthy": 3,
                "zonesHealthy": {"us-west-2a": 2},
            },
            "nomad-csi:index:VolumeGuard": {"guardId": "guard-1", "finalSnapshot": True},
            "nomad-csi:index:CsiVolumeGuard": {"finalSnapshot": True},
            "nomad-csi:index:VolumeGrowth": {"restartId": ""},
            "nomad-csi:index:VolumeProtection": {"restartId": ""},
            "nomad-csi:index:VolumeRelease": {"releaseId": "release-1"},
            "nomad-csi:index:GeneratedSecret": {"result": PASSWORD},
            "nomad-csi:index:Ownership": {"ownerId": "owner-1"},
            "nomad-csi:index:ReplicationGroup": {"first": args.inputs.get("candidate"), "groupId": "group-1"},
            "nomad-csi:index:JobHealth": {"allocationId": "allocation-1", "nodeName": "client-1"},
        }
        return f"{args.name}-id", {**args.inputs, **outputs_by_type.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        return {"allocationId": "allocation-1", "nodeName": "client-1", "host": "10.0.0.5", "port": 3306}, []


def planned(config: dict[str, Any]) -> Plan:
    """Returns the plan of a configuration."""
    return plan.of(settings.parse(config), ENVIRONMENT.stack)


def record(config: dict[str, Any], adopted: Mapping[str, Adopted] | None = None) -> Resources:
    """Returns every resource of the program under a configuration, by logical name."""
    recorder = Recorder()
    mocks.set_mocks(recorder, project="nomad-stateful", stack="test")

    # Registrations go on after the body returns; only then is everything recorded.
    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> pulumi.Output[Any]:
        exported: dict[str, Any] = {}
        with patch.object(pulumi, "export", exported.__setitem__):
            values = Values(settings.parse(config), replace(ENVIRONMENT, adopted=adopted or {}))
            story.deploy(planned(config), values)
        return pulumi.Output.all(**exported)

    run()
    return recorder.resources


def variables(job: mocks.MockResourceArgs) -> dict[str, Any]:
    """The job's variables, decoded as Nomad would (but for its escapes)."""
    decoded = {}
    for name, value in job.inputs["hcl2"]["vars"].items():
        try:
            decoded[name] = json.loads(value)
        except ValueError:
            decoded[name] = value
    return decoded
