"""Settings that were accepted once and that Nomad, EC2, IAM, docker, the driver or the server then refused."""

import json
from dataclasses import dataclass
from typing import Any

from tests.random_settings.bases import BASES, CONSTRAINT
from tests.random_settings.values import KEYS


@dataclass(frozen=True)
class Fault:
    """A value at a path of a configuration, and the key that the refusal names."""

    base: int
    path: tuple[str | int, ...]
    value: Any
    key: str

    def __str__(self) -> str:
        return f"{self.key}={str(self.value)[:40]}"

    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(json.dumps(BASES[self.base]))
        parent: Any = config
        for part in self.path[:-1]:
            parent = parent.setdefault(part, {}) if isinstance(parent, dict) else parent[part]
        parent[self.path[-1]] = self.value
        return config


def _mysql(key: str, value: Any, said: str = "") -> Fault:
    return Fault(2, ("mysql", *key.split(".")), value, f"mysql.{said or key}")


def _postgres(key: str, value: Any, said: str = "") -> Fault:
    return Fault(-1, ("postgres", *key.split(".")), value, f"postgres.{said or key}")


def _consumer(key: str, value: Any, said: str = "") -> Fault:
    path = tuple(int(part) if part.isdigit() else part for part in key.split("."))
    return Fault(3, ("consumers", 0, *path), value, f"consumers.logs.{said or key}")


def _volume(key: str, value: Any, said: str = "") -> Fault:
    return Fault(2, ("volumes", 0, key), value, f"volumes.mysql.{said or key}")


def _plugin(base: int, name: str, key: str, value: Any, said: str = "") -> Fault:
    return Fault(base, ("plugins", 0, key), value, f"plugins.{name}.{said or key}")


SERVER_ARGUMENTS = (
    *("--datadir=/x", "--data_dir=/x", "--data-dir=/x", "--datad=/x", "--loose-datadir=/x", "--loose_datadir=/x"),
    *("-h/x", "-h", "/x", "--port=1", "--por=1", "-P1", "--user=root", "-uroot", "--init-file=/x", "--init_f=/x"),
    *("--defaults-file=/x", "--defaults-extra-file=/x", "--no-defaults", "--help", "--print-defaults", "--version"),
    *("--initialize", "--initialize-insecure", "--bootstrap", "--daemonize", "--skip-networking", "--chroot=/x"),
    *("--skip-grant-tables", "--skip-name-resolve=0", "--disable-skip-name-resolve", "--skip-ssl", "--ssl=0"),
    "--ssl-ca=x",
    *("--tls-version=", "--require-secure-transport=OFF", "--auto-generate-certs=OFF", "--", "--=x", "x"),
    *("--innodb-data-home-dir=/x", "--innodb_log_group_home_dir=/tmp", "--innodb-undo-directory=../x"),
    "--log-bin=/x/y",
    *("--log-bin=/x/y", "--relay-log=/var/x", "--loose-innodb-undo-dir=/x"),
    "--innodb-data-file-path=ibdata1:12M;/x/ibdata2:12M",
    *("--innodb-doublewrite-dir=${env.HOME}", "--log-bin-index=/srv/../x"),
)
CRONS = (
    *("99 3 * * *", "0 99 * * *", "0 3 32 * *", "0 3 * 13 *", "0 3 * * 8", "0 3 31 2 *", "*/0 * * * *", "50-5 * * * *"),
    *("0 3 * * 5-7", "0 0 31 4,6,9,11 *", "0 3 * *", "@never", "0 3 32w * *"),
)
POSTGRES_ARGUMENTS = (
    *("--data_directory=/x", "--DATA-DIRECTORY=/x", "-D/x", "-D", "/x", "--port=1", "--hba_file=/x"),
    "--config-file=/x",
    *("--fsync=off", "-c fsync=off", "--single", "--boot", "--help", "--version", "--describe-config", "--", "--=x"),
    "x",
    *("--ssl=off", "--listen_addresses=*", "--unix_socket_directories=/x", "--synchronous_commit=off"),
)
LONG = "2562048h"
MANY_KEYS = [
    {"name": f"k{number}", "zone": "us-west-2a", "sizeGib": 1, "kmsKeyArn": key} for number, key in enumerate(KEYS)
]

FAULTS: list[Fault] = [
    *(_mysql("serverArgs", [argument], "serverArgs.0") for argument in SERVER_ARGUMENTS),
    *(_mysql("config", {name: "/x"}, f"config.{name}") for name in ("datadir", "loose_datadir", "datad", "log_bin")),
    *(_mysql("backup.schedule", cron) for cron in CRONS),
    *(_mysql(key, LONG) for key in ("checkInterval", "restartInterval", "killTimeout", "stopAfterDisconnect")),
    *(_mysql(key, 10**30) for key in ("cpuMhz", "memoryMib", "timeoutS", "releaseTimeoutS", "serverUid")),
    *(_mysql("dataDir", path) for path in ("/etc/mysql", "/local/x", "/secrets/x", "/var/lib/mysql", "/srv/.", "/é/x")),
    _mysql("killTimeout", "10m"),
    _mysql("jobId", "my_sql"),
    _mysql("initScripts", {"a.sql": ""}, "initScripts.a.sql"),
    _mysql("databases", ["app", "sys"], "databases"),
    _mysql("databases", ["app", "app"], "databases"),
    *(
        _mysql("users", [{"name": "app", "database": "app", "privileges": some}], "users.app.privileges")
        for some in ("FOO", "FILE", "ALL, SELECT")
    ),
    _mysql("tlsCertificate", {"certificate": "-----BEGIN CERTIFICATE-----", "key": "k" * 65536}, "tlsCertificate"),
    *(_postgres("serverArgs", [argument], "serverArgs.0") for argument in POSTGRES_ARGUMENTS),
    *(
        _postgres("config", {name: value}, f"config.{name}")
        for name, value in {"data_directory": "/x", "fsync": "off", "full_page_writes": "off", "a b": "1"}.items()
    ),
    *(_postgres("backup.schedule", cron) for cron in CRONS[:3]),
    *(_postgres("dataDir", path) for path in ("/etc/x", "/local/x", "/secrets/x", "/srv/.", "/é/x")),
    _postgres("jobId", "post_gres"),
    _postgres("databases", ["app", "template1"], "databases"),
    *(
        _postgres("users", [{"name": "app", "database": "app", "privileges": some}], "users.app.privileges")
        for some in ("FOO", "SUPERUSER", "ALL, SELECT")
    ),
    *(
        _postgres("users", [{"name": name, "database": "app"}], f"users.{name}.name")
        for name in ("backup", "pg_monitor", "public")
    ),
    *(_consumer("mounts.0.path", path) for path in ("/local", "/secrets/x", "/alloc", "/a/.", "/é")),
    *(_consumer("files.0.destination", path) for path in ("local/.", "local/é")),
    _consumer("files.0.text", ""),
    _consumer("files", [{"destination": f"local/{name}", "text": "x"} for name in ("a", "a/b")], "files.1.destination"),
    _consumer("ports", [{"label": "http"}, {"label": "http"}], "ports"),
    _consumer("ports", [{"label": "http", "static": 80}, {"label": "b", "static": 80}], "ports"),
    *(_consumer("service.checkPath", path) for path in ("", "http://x/", "/%zz", "//[", "relative")),
    *(_consumer("constraints", [{**CONSTRAINT, "operator": one}], "constraints.0.operator") for one in ("", "unknown")),
    *(
        _consumer("constraints", [{**CONSTRAINT, "operator": operator, "value": value}], "constraints.0.value")
        for operator, value in (
            *(("regexp", "("), ("regexp", "a{1001}"), ("regexp", "(?=x)"), ("regexp", r"\u0041"), ("version", ">= x")),
            *(("semver", ">= 1.2"), ("=", ""), ("is_set", "x"), ("distinct_property", "0"), ("set_contains", "")),
        )
    ),
    *(
        _consumer("constraints", [{**CONSTRAINT, "attribute": one}], "constraints.0.attribute")
        for one in ("", "node.class", "${", "${node.region}")
    ),
    *(_consumer("image", one) for one in ("UPPER:1", "a//b:1", "a:-1", "é:1", "a:" + "t" * 129)),
    *(_consumer("nodePool", pool) for pool in ("", "a b", "p" * 129)),
    _consumer("secrets", {"a": "x" * 40_000, "b": "y" * 40_000}, "secrets"),
    _consumer("secrets", {"": "x"}, "secrets"),
    _consumer("env", {"NOMAD_SECRETS_DIR": "/x"}, "env.NOMAD_SECRETS_DIR"),
    *(
        _volume("tags", {key: "x"}, f"tags.{key}")
        for key in ("aws:x", "AWS:x", "Name", "nomad-stateful-guard", "nomad-stateful-stack")
    ),
    *(_volume("tags", tags) for tags in ({"": "x"}, {f"k{number}": "v" for number in range(60)})),
    _volume("tags", {"k" * 129: "x"}, f"tags.{'k' * 129}"),
    _volume("throughputMibps", 751),
    *(_volume("kmsKeyArn", arn) for arn in ("arn:aws:kms:x", "arn:aws:kms:é", "arn:awsx:kms:dx:079135580524:key/0F")),
    _volume("snapshotId", "snap-1"),
    _volume("mountFlags", ["ro"], "mountFlags.0"),
    Fault(3, ("volumes", 1, "type"), "io2", "volumes.made.type"),
    Fault(3, ("volumes", 1, "tags"), {"a": "b"}, "volumes.made.tags"),
    Fault(3, ("volumes", 1, "sizeGib"), 10**30, "volumes.made.sizeGib"),
    Fault(6, ("volumes", 0, "capacity"), "8388608TiB", "volumes.set.capacity"),
    Fault(4, ("volumes", 0, "externalId"), "vol-1", "volumes.old.externalId"),
    Fault(1, ("volumes",), [*BASES[1]["volumes"], *MANY_KEYS], "volumes"),
    Fault(1, ("mysql", "jobId"), "my_sql", "mysql.jobId"),
    Fault(4, ("consumers", 0, "name"), "my_app", "consumers.my_app.name"),
    Fault(1, ("clientRole",), "é", "clientRole"),
    Fault(1, ("placement", "datacenters"), [""], "placement.datacenters.0"),
    Fault(1, ("placement", "namespace"), "my_ns", "placement.namespace"),
    Fault(1, ("placement", "nodePool"), "", "placement.nodePool"),
    *(
        _plugin(base, name, "extraArgs", [argument], "extraArgs.0")
        for base, name, arguments in (
            (
                1,
                "aws-ebs0",
                ("--endpoint=/x", "-v=9", "--batching=maybe", "--http-endpoint", "--logtostderr=false", "x"),
            ),
            (5, "efs", ("--endpoint=/x", "-endpoint=/x", "--v=9", "--version", "--", "x")),
            (6, "nas", ("--csi-mode=node", "--csiMode=node", "--no-csi-mode", "--csi-mode.x=1", "--server-socket=/x")),
            (8, "hostpath", ("--nodeid=1", "--statedir=/x", "--drivername=x")),
        )
        for argument in arguments
    ),
    _plugin(1, "aws-ebs0", "env", {"CSI_ENDPOINT": "x"}, "env.CSI_ENDPOINT"),
    _plugin(6, "nas", "env", {"CSI_NODE_ID": "x"}, "env.CSI_NODE_ID"),
    *(_plugin(1, "aws-ebs0", "endpoint", where) for where in ("tcp://0.0.0.0:1", "", "unix:///elsewhere.sock")),
    *(_plugin(1, "aws-ebs0", "mountDir", where) for where in ("/..", "/local", "/dev")),
    _plugin(1, "aws-ebs0", "stagePublishBaseDir", "/x/../csi/y"),
    _plugin(1, "aws-ebs0", "hostMounts", [{"source": "/a", "target": "/csi"}], "hostMounts.0.target"),
    _plugin(1, "aws-ebs0", "hostMounts", [{"source": "/a", "target": "/b"}] * 2, "hostMounts.1.target"),
    _plugin(1, "aws-ebs0", "ipcMode", "foo"),
    _plugin(7, "nas", "zones", ["us-west-2a", "us-west-2a"]),
    _plugin(1, "aws-ebs0", "networkMode", "a b"),
    _plugin(1, "aws-ebs0", "healthTimeout", "99999999999999999999s"),
    _plugin(1, "aws-ebs0", "extraTags", {"AWS:x": "1"}, "extraTags.AWS:x"),
    _plugin(6, "nas", "config", "driver: other\n#" + "x" * 65536),
]
