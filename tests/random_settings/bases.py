"""Accepted configurations from which the random ones are made: each driver, and each kind of program on a volume."""

from typing import Any

from tests.injection.configurations import EVERYTHING, WITH_GROUP, WITH_POSTGRES

ZFS = (
    "driver: zfs-generic-nfs\n"
    "zfs: {datasetParentName: tank/csi, detachedSnapshotsDatasetParentName: tank/snapshots}\n"
    "nfs: {shareHost: nas, shareStrategy: setDatasetProperties,"
    " shareStrategySetDatasetProperties: {properties: {sharenfs: 'on'}}}\n"
)
NFS = "driver: nfs-client\nnfs: {shareHost: nas, shareBasePath: /share, controllerBasePath: /controller}\n"
SCHEDULE = {"name": "daily", "schedule": "0 3 * * *", "keep": 14}
LOCK = {"mode": "GOVERNANCE", "days": 7}
CONSTRAINT = {"attribute": "${node.class}", "operator": "=", "value": "storage"}

ZONE = "us-west-2a"
DATA: dict[str, Any] = {"name": "mysql", "zone": ZONE, "sizeGib": 10, "tags": {"team": "storage"}, "iops": 3000}
DUMPS: dict[str, Any] = {"name": "dumps", "zone": ZONE, "sizeGib": 5, "type": "gp2"}
SERVER: dict[str, Any] = {
    "volume": "mysql",
    "serverArgs": ["--max-connections=7"],
    "config": {"sql_mode": "ANSI"},
    "initScripts": {"10-app.sql": "SELECT 1;"},
    "databases": ["app"],
    "users": [{"name": "app", "database": "app"}],
    "backup": {"volume": "dumps", "s3": {"objectLock": LOCK}},
    "pointInTime": {"s3": {"objectLock": LOCK}},
}
PROGRAM: dict[str, Any] = {
    "name": "logs",
    "image": "busybox:1.36",
    "args": ["-c", "exec sleep 1d"],
    "env": {"GREETING": "hello"},
    "ports": [{"label": "http", "to": 80}, {"label": "admin", "static": 9000}],
    "service": {"port": "http", "check": "http"},
    "files": [{"destination": "local/motd", "text": "hello"}],
    "constraints": [CONSTRAINT],
    "mounts": [{"volume": "log", "path": "/log", "perAlloc": True}],
}


def _stack(plugins: list[dict[str, Any]], volumes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"clientRole": "nomad-client", "agentImage": "agent:1.0", "plugins": plugins, "volumes": volumes, **more}


BASES: list[dict[str, Any]] = [
    EVERYTHING,
    _stack([{"id": "aws-ebs0"}], [DATA], mysql={"volume": "mysql"}),
    _stack([{"id": "aws-ebs0", "extraTags": {"team": "storage"}}], [DATA, DUMPS], mysql=SERVER),
    _stack(
        [{"id": "aws-ebs0", "version": "v1.51.0", "snapshots": True, "extraArgs": ["--batching=true"]}],
        [
            {"name": "log", "zones": [ZONE, "us-west-2b"], "count": 2, "sizeGib": 4, "type": "io2", "iops": 100},
            {"name": "made", "provision": "plugin", "zone": ZONE, "sizeGib": 4, "snapshots": [SCHEDULE]},
        ],
        consumers=[PROGRAM, {"name": "maker", "image": "m:1", "mounts": [{"volume": "made", "path": "/made"}]}],
        metrics={"mysql": {}, "volumes": {}},
        failover={},
    ),
    _stack(
        [{"id": "aws-ebs0", "taskDriver": "docker"}],
        [
            {
                "name": "old",
                "provision": "existing",
                "externalId": "vol-0123456789abcdef0",
                "zone": ZONE,
                "registered": {},
                "snapshots": [SCHEDULE],
            },
            {"name": "own", "zone": ZONE, "sizeGib": 4, "adopt": True, "registered": {}},
        ],
        consumers=[
            {
                "name": "raw",
                "taskDriver": "exec",
                "command": "/bin/raw",
                "secrets": {"word": "whispered"},
                "mounts": [{"volume": "old", "path": "/old"}],
            }
        ],
    ),
    _stack(
        [{"id": "efs", "driver": "efs"}],
        [
            {
                "name": "share",
                "provision": "existing",
                "externalId": "fs-0123456789abcdef0",
                "fsType": "",
                "accessMode": "multi-node-multi-writer",
                "mountFlags": ["tls"],
            }
        ],
        consumers=[
            {"name": "web", "image": "web:1", "count": 3, "canaries": 1}
            | {"mounts": [{"volume": "share", "path": "/share", "readOnly": True}]}
        ],
    ),
    _stack(
        [{"id": "nas", "driver": "democratic-csi", "config": ZFS}],
        [
            {"name": "set", "provision": "plugin", "count": 2, "capacity": "100MiB", "fsType": "nfs"},
            {"name": "dumps", "provision": "plugin", "sizeGib": 1, "fsType": "nfs", "parameters": {"a": "b"}},
        ],
        consumers=[{**PROGRAM, "mounts": [{"volume": "set", "path": "/set", "perAlloc": True}]}],
    ),
    _stack(
        [{"id": "nas", "driver": "democratic-csi", "config": NFS, "env": {"LEVEL": "2"}}],
        [{"name": "mysql", "provision": "plugin", "sizeGib": 1, "fsType": "nfs"}],
        mysql={"volume": "mysql", "serviceProvider": "consul"},
    ),
    _stack(
        [{"id": "hostpath", "driver": "hostpath"}],
        [{"name": "try", "provision": "plugin", "sizeGib": 1, "fsType": ""}],
        consumers=[{"name": "one", "image": "one:1", "mounts": [{"volume": "try", "path": "/try"}]}],
    ),
    WITH_GROUP,
    WITH_POSTGRES,
]
