"""Configurations in which every section of the settings stands at least once; a stack has one database."""

from typing import Any

from tests.certificates import CERTIFICATE

CONSTRAINTS = [{"attribute": "${node.class}", "operator": "=", "value": "storage"}]

PLUGINS: list[dict[str, Any]] = [
    {
        "id": "ebs",
        "constraints": CONSTRAINTS,
        "hostMounts": [{"source": "/dev", "target": "/dev"}],
        "jobIds": {},
        "extraTags": {"team": "storage"},
        "extraArgs": ["--batching=true"],
        "env": {"LEVEL": "2"},
    },
    {
        "id": "nas",
        "driver": "democratic-csi",
        "config": "driver: nfs-client\nnfs: {shareHost: nas, shareBasePath: /share, controllerBasePath: /controller}\n",
        "env": {"LEVEL": "2"},
    },
    {"id": "efs", "driver": "efs"},
    {"id": "spare", "driver": "efs"},
]
MAPS = {"context": {"server": "nas"}, "parameters": {"share": "tank"}, "secrets": {"key": "whispered"}}
SNAPSHOTS = {
    "name": "daily",
    "schedule": "0 3 * * *",
    "keep": 14,
    "copies": [{"region": "eu-central-1", "keepDays": 30}],
    "tags": {"tier": "gold"},
}
VOLUMES: list[dict[str, Any]] = [
    {"name": "mysql", "zone": "us-west-2a", "sizeGib": 1, "tags": {"team": "storage"}, "mountFlags": ["noatime"]}
    | {"snapshots": [SNAPSHOTS]},
    {"name": "dumps", "zone": "us-west-2a", "sizeGib": 1},
    {"name": "log", "zones": ["us-west-2a"], "count": 2, "sizeGib": 1},
    {"name": "share", "plugin": "efs", "provision": "existing", "externalId": "fs-1", "fsType": "", **MAPS}
    | {"registered": {}},
    {"name": "made", "plugin": "nas", "provision": "plugin", "capacity": "100MiB", "fsType": "", **MAPS},
    {"name": "spare", "zone": "us-west-2b", "sizeGib": 1},
]
MYSQL: dict[str, Any] = {
    "volume": "mysql",
    "serverArgs": ["--max-connections=7"],
    "config": {"sql_mode": "ANSI"},
    "initScripts": {"10-app.sql": "SELECT 1;"},
    "tlsCertificate": {"certificate": CERTIFICATE, "key": "whispered", "ca": CERTIFICATE},
    "databases": ["spare", "app"],
    "users": [{"name": "app", "database": "app"}],
    "backup": {"volume": "dumps", "s3": {"objectLock": {"mode": "COMPLIANCE", "days": 35}}},
    "pointInTime": {"s3": {"prefix": "logs/"}, "intervalS": 20},
}
PROGRAM: dict[str, Any] = {
    "args": ["--verbose"],
    "env": {"GREETING": "hello"},
    "ports": [{"label": "http", "to": 80}, {"label": "spare"}],
    "service": {"port": "http", "check": "http"},
    "files": [{"destination": "local/motd", "text": "{{ key }}"}],
    "secrets": {"word": "whispered"},
    "constraints": CONSTRAINTS,
}
EVERYTHING: dict[str, Any] = {
    "clientRole": "nomad-client",
    "clientTags": {"role": "client"},
    "placement": {"datacenters": ["dc1"]},
    "plugins": PLUGINS,
    "volumes": VOLUMES,
    "mysql": MYSQL,
    "consumers": [
        {"name": "one", "image": "one:1.0", "mounts": [{"volume": "share", "path": "/share"}], **PROGRAM},
        {
            "name": "two",
            "taskDriver": "exec",
            "command": "/bin/two",
            "mounts": [{"volume": "log", "path": "/log", "perAlloc": True}],
            **PROGRAM,
        },
    ],
    "metrics": {"mysql": {}, "volumes": {}},
    "failover": {"taskDriver": "docker"},
    "agentImage": "agent:1.0",
}
WITH_POSTGRES: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": PLUGINS[:1],
    "volumes": VOLUMES[:2],
    "postgres": {
        **{key: value for key, value in MYSQL.items() if key != "pointInTime"},
        "serverArgs": ["--max_connections=7"],
        "config": {"log_line_prefix": "%m"},
        "users": [{"name": "app", "database": "app"}, {"name": "reader", "database": "app", "privileges": "SELECT"}],
    },
    "metrics": {"postgres": {}},
    "agentImage": "agent:1.0",
}
WITH_GROUP: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": PLUGINS[:1],
    "volumes": [{"name": "mysql", "zones": ["us-west-2a", "us-west-2b", "us-west-2c"], "count": 3, "sizeGib": 1}],
    "mysql": {
        "volume": "mysql",
        "databases": ["app"],
        "users": [{"name": "app", "database": "app"}],
        "group": {"router": {}},
        "pointInTime": {"s3": {}},
    },
    "agentImage": "agent:1.0",
}
CONFIGURATIONS = {"mysql": EVERYTHING, "postgres": WITH_POSTGRES, "group": WITH_GROUP}
"""By what is in it of databases."""
