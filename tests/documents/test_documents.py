"""Field by field: the jobs and volumes of the documents, from configuration to what Nomad parses.

Each table holds what a document's job or volume says; the configuration beside it is how a stack says the same.
What differs on purpose is listed with its reason.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sandbox.standins.plugins.nomad.jobspec import JobSource, JobspecParser
from tests.unit.program.recorder import record
from tools import toolchain

pytestmark = pytest.mark.nomad

OLD_ENDPOINT = {"endpoint": "unix://csi/csi.sock", "logLevel": 5}
DC1 = {"datacenters": ["dc1"]}
EBS_VOLUME = {"name": "mysql", "zone": "us-west-2a", "sizeGib": 40}

TUTORIAL: dict[str, Any] = {
    "clientRole": "instance_role",
    "placement": DC1,
    "plugins": [
        {
            "id": "aws-ebs0",
            "image": "amazon/aws-ebs-csi-driver",
            "version": "v0.10.1",
            "controllers": 1,
            "jobIds": {"controller": "plugin-aws-ebs-controller", "node": "plugin-aws-ebs-nodes"},
            "cpuMhz": 500,
            "memoryMib": 256,
            **OLD_ENDPOINT,
        }
    ],
    "volumes": [EBS_VOLUME],
    "mysql": {
        "jobId": "mysql-server",
        "volume": "mysql",
        "port": 3306,
        "image": "hashicorp/mysql-portworx-demo:1.0",
        "dataDir": "/srv/mysql",
        "restartAttempts": 10,
        "restartInterval": "5m",
        "restartDelay": "25s",
        "cpuMhz": 500,
        "memoryMib": 1024,
        "checkInterval": "10s",
        "checkTimeout": "2s",
    },
}
EFS: dict[str, Any] = {
    "clientRole": "instance_role",
    "placement": DC1,
    "plugins": [
        {
            "id": "aws-efs0",
            "driver": "efs",
            "image": "amazon/aws-efs-csi-driver:v.1.3.2",
            "version": "v1.3.2",
            "jobIds": {"node": "plugin-efs"},
            "constraints": [{"operator": "distinct_hosts", "value": "true"}],
            "networkMode": "",
            "hostMounts": [],
            **OLD_ENDPOINT,
        }
    ],
    "volumes": [{"name": "share", "provision": "existing", "externalId": "fs-1", "fsType": ""}],
}
HOSTPATH: dict[str, Any] = {
    "clientRole": "instance_role",
    "plugins": [
        {
            "id": "csi-hostpath",
            "driver": "hostpath",
            "mountDir": "/csi",
            "stagePublishBaseDir": "/local/stage",
            "healthTimeout": "2m",
        }
    ],
    "volumes": [{"name": "scratch", "provision": "plugin", "sizeGib": 1, "fsType": ""}],
}
CONFIG = """\
driver: zfs-generic-nfs
sshConnection: {host: kowlan.jellybean.sihnon.net, username: root, privateKey: key}
zfs: {datasetParentName: pool2/democratic/root, detachedSnapshotsDatasetParentName: pool2/democratic/snapshots}
nfs:
  shareHost: kowlan.jellybean.sihnon.net
  shareStrategy: setDatasetProperties
  shareStrategySetDatasetProperties: {properties: {sharenfs: "on"}}
"""
DEMOCRATIC: dict[str, Any] = {
    "clientRole": "instance_role",
    "plugins": [{"id": "kowlan", "driver": "democratic-csi", "controllers": 2, "config": CONFIG}],
    "volumes": [
        {
            "name": "traefik-acme",
            "provision": "existing",
            "externalId": "traefik-acme",
            "fsType": "nfs",
            "mountFlags": ["nolock"],
            "context": {
                "node_attach_driver": "nfs",
                "provisioner_driver": "zfs-generic-nfs",
                "server": "kowlan.jellybean.sihnon.net",
                "share": "/pool2/democratic/root/traefik-acme",
            },
        }
    ],
}

EBS_ARGS = ["--endpoint=unix://csi/csi.sock", "--logtostderr", "--v=5"]
PLUGIN = "TaskGroups.0.Tasks.0"

JOBS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    (
        "tutorial: controller plugin",
        TUTORIAL,
        "plugin-aws-ebs0-controller",
        {
            "ID": "plugin-aws-ebs-controller",
            "Datacenters": ["dc1"],
            "Type": "service",
            "TaskGroups.0.Name": "controller",
            "TaskGroups.0.Count": 1,
            f"{PLUGIN}.Name": "plugin",
            f"{PLUGIN}.Driver": "docker",
            f"{PLUGIN}.Config.image": "amazon/aws-ebs-csi-driver:v0.10.1",
            f"{PLUGIN}.Config.args": ["controller", *EBS_ARGS],
            f"{PLUGIN}.Config.privileged": False,
            f"{PLUGIN}.CSIPluginConfig.ID": "aws-ebs0",
            f"{PLUGIN}.CSIPluginConfig.Type": "controller",
            f"{PLUGIN}.CSIPluginConfig.MountDir": "/csi",
            f"{PLUGIN}.Resources.CPU": 500,
            f"{PLUGIN}.Resources.MemoryMB": 256,
        },
    ),
    (
        "tutorial: node plugin",
        TUTORIAL,
        "plugin-aws-ebs0-node",
        {
            "ID": "plugin-aws-ebs-nodes",
            "Datacenters": ["dc1"],
            "Type": "system",
            "TaskGroups.0.Name": "nodes",
            f"{PLUGIN}.Name": "plugin",
            f"{PLUGIN}.Driver": "docker",
            f"{PLUGIN}.Config.image": "amazon/aws-ebs-csi-driver:v0.10.1",
            f"{PLUGIN}.Config.args": ["node", *EBS_ARGS],
            f"{PLUGIN}.Config.privileged": True,
            f"{PLUGIN}.CSIPluginConfig.ID": "aws-ebs0",
            f"{PLUGIN}.CSIPluginConfig.Type": "node",
            f"{PLUGIN}.CSIPluginConfig.MountDir": "/csi",
            f"{PLUGIN}.Resources.CPU": 500,
            f"{PLUGIN}.Resources.MemoryMB": 256,
        },
    ),
    (
        "EFS: node plugin",
        EFS,
        "plugin-aws-efs0-node",
        {
            "ID": "plugin-efs",
            "Datacenters": ["dc1"],
            "Type": "system",
            "Constraints.0.Operand": "distinct_hosts",
            "Constraints.0.RTarget": "true",
            "TaskGroups.0.Name": "nodes",
            f"{PLUGIN}.Name": "plugin",
            f"{PLUGIN}.Driver": "docker",
            f"{PLUGIN}.Config.image": "amazon/aws-efs-csi-driver:v.1.3.2",
            f"{PLUGIN}.Config.args": EBS_ARGS,
            f"{PLUGIN}.Config.privileged": True,
            f"{PLUGIN}.Config.network_mode": "",
            f"{PLUGIN}.Config.mount": [],
            f"{PLUGIN}.CSIPluginConfig.ID": "aws-efs0",
            f"{PLUGIN}.CSIPluginConfig.Type": "node",
            f"{PLUGIN}.CSIPluginConfig.MountDir": "/csi",
        },
    ),
    (
        "csi_plugin: monolith with every parameter",
        HOSTPATH,
        "plugin-csi-hostpath-monolith",
        {
            "Type": "system",
            f"{PLUGIN}.CSIPluginConfig.ID": "csi-hostpath",
            f"{PLUGIN}.CSIPluginConfig.Type": "monolith",
            f"{PLUGIN}.CSIPluginConfig.MountDir": "/csi",
            f"{PLUGIN}.CSIPluginConfig.StagePublishBaseDir": "/local/stage",
            f"{PLUGIN}.CSIPluginConfig.HealthTimeout": 120_000_000_000,
        },
    ),
    (
        "democratic-csi: two controllers as a service job",
        DEMOCRATIC,
        "plugin-kowlan-controller",
        {
            "Type": "service",
            "TaskGroups.0.Count": 2,
            f"{PLUGIN}.CSIPluginConfig.Type": "controller",
            f"{PLUGIN}.Templates.0.DestPath": "${NOMAD_SECRETS_DIR}/driver-config-file.yaml",
        },
    ),
    (
        "democratic-csi: a node on every client as a system job",
        DEMOCRATIC,
        "plugin-kowlan-node",
        {"Type": "system", f"{PLUGIN}.CSIPluginConfig.Type": "node", f"{PLUGIN}.Config.ipc_mode": "host"},
    ),
    (
        # On purpose: the password comes from a file and not from the environment, the image is pinned, and the
        # service is the allocation's.
        "tutorial: MySQL",
        TUTORIAL,
        "mysql-job",
        {
            "ID": "mysql-server",
            "Datacenters": ["dc1"],
            "Type": "service",
            "TaskGroups.0.Count": 1,
            "TaskGroups.0.Networks.0.ReservedPorts.0.Label": "db",
            "TaskGroups.0.Networks.0.ReservedPorts.0.Value": 3306,
            "TaskGroups.0.RestartPolicy.Attempts": 10,
            "TaskGroups.0.RestartPolicy.Interval": 300_000_000_000,
            "TaskGroups.0.RestartPolicy.Delay": 25_000_000_000,
            "TaskGroups.0.RestartPolicy.Mode": "delay",
            f"{PLUGIN}.Driver": "docker",
            f"{PLUGIN}.Config.image": "hashicorp/mysql-portworx-demo:1.0",
            f"{PLUGIN}.Config.ports": ["db"],
            f"{PLUGIN}.VolumeMounts.0.Destination": "/srv",
            f"{PLUGIN}.VolumeMounts.0.ReadOnly": False,
            f"{PLUGIN}.Resources.CPU": 500,
            f"{PLUGIN}.Resources.MemoryMB": 1024,
            "TaskGroups.0.Services.0.Name": "mysql-server",
            "TaskGroups.0.Services.0.PortLabel": "db",
            "TaskGroups.0.Services.0.Checks.0.Type": "tcp",
            "TaskGroups.0.Services.0.Checks.0.Interval": 10_000_000_000,
            "TaskGroups.0.Services.0.Checks.0.Timeout": 2_000_000_000,
        },
    ),
]

VOLUMES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    (
        "tutorial: the EBS volume",
        TUTORIAL,
        "ebs-mysql-us-west-2a",
        {"availabilityZone": "us-west-2a", "size": 40},
    ),
    (
        "tutorial: the registration",
        TUTORIAL,
        "volume-mysql-registration",
        {
            "volumeId": "mysql",
            "name": "mysql",
            "externalId": "ebs-mysql-us-west-2a-id",
            "pluginId": "aws-ebs0",
            "capabilities": [{"accessMode": "single-node-writer", "attachmentMode": "file-system"}],
        },
    ),
    (
        "democratic-csi: the registration",
        DEMOCRATIC,
        "volume-traefik-acme-registration",
        {
            "volumeId": "traefik-acme",
            "name": "traefik-acme",
            "externalId": "traefik-acme",
            "pluginId": "kowlan",
            "capabilities": [{"accessMode": "single-node-writer", "attachmentMode": "file-system"}],
            "mountOptions": {"fsType": "nfs", "mountFlags": ["nolock"]},
            "context": DEMOCRATIC["volumes"][0]["context"],
        },
    ),
    (
        "democratic-csi: a volume of 100 MiB made by the driver",
        DEMOCRATIC | {"volumes": [{"name": "traefik-acme", "provision": "plugin", "capacity": "100MiB", "fsType": ""}]},
        "volume-traefik-acme-volume",
        {"volumeId": "traefik-acme", "capacityMin": "100MiB", "pluginId": "kowlan"},
    ),
]


@cache
def nomad() -> Path:
    return toolchain.ensure().nomad


def at(value: Any, path: str) -> Any:
    """The part of a document that a dotted path leads to."""
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@pytest.mark.parametrize(("config", "resource", "fields"), [case[1:] for case in JOBS], ids=[case[0] for case in JOBS])
def test_the_rendered_job_says_what_the_document_says(
    config: dict[str, Any], resource: str, fields: dict[str, Any]
) -> None:
    source = JobSource.from_inputs(dict(record(config)[resource].inputs))
    assert source is not None
    job = JobspecParser(str(nomad())).parse(source)
    assert {path: at(job, path) for path in fields} == fields


@pytest.mark.parametrize(
    ("config", "resource", "fields"), [case[1:] for case in VOLUMES], ids=[case[0] for case in VOLUMES]
)
def test_the_volume_says_what_the_document_says(config: dict[str, Any], resource: str, fields: dict[str, Any]) -> None:
    inputs = record(config)[resource].inputs
    assert {key: inputs[key] for key in fields} == fields


def test_the_drivers_configuration_with_its_key_is_in_the_jobs_variables_and_in_nothing_else() -> None:
    holders = [name for name, made in record(DEMOCRATIC).items() if "sshConnection" in str(made.inputs)]
    assert sorted(holders) == ["plugin-kowlan-controller-config", "plugin-kowlan-node-config"]
