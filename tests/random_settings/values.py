"""Values for a key, most of them at the edge of what something takes."""

import typing
from typing import Any

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from tests.injection import hostile
from tests.random_settings.places import alternatives

WHOLE = (
    *(-1, 0, 1, 2, 3, 10, 16, 20, 47, 48, 100, 500, 999, 1000, 3000, 65535, 65536, 2**31 - 1, 2**31, 2**53, 2**63),
    10**30,
)
DURATIONS = (
    *("0s", "1ms", "999ms", "1s", "4s", "5s", "30s", "59m60s", "5m", "10m", "1h", "24h", "8760h", "8761h", "00s"),
    "1h1h",
    *("2562047h", "2562048h", "99999999999999999999s", "9223372037s", "1d", "1.5s", "-1s", "never"),
)
TAGS: tuple[dict[str, str], ...] = (
    *({"aws:x": "1"}, {"AWS:x": "1"}, {"": "1"}, {"k" * 128: "v" * 256}, {"k" * 129: "1"}, {"k": "v" * 257}),
    {"é ü": "ß"},
    *({"Name": "mine"}, {"ebs.csi.aws.com/cluster": "false"}, {"nomad-stateful-guard": "x"}, {"kubernetes.io/x": "1"}),
    *({f"k{n}": "v" for n in range(40)}, {f"k{n}": "v" for n in range(47)}, {f"k{n}": "v" for n in range(60)}),
)
KEYS = [f"arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-{n:012d}" for n in range(40)]
CRONS = (
    *("0 3 * * *", "99 3 * * *", "0 99 * * *", "0 3 32 * *", "0 3 * 13 *", "0 3 * * 8", "0 3 31 2 *", "0 3 29 2 *"),
    *("*/0 * * * *", "*/61 * * * *", "*/5 * * * *", "50-5 * * * *", "0 0 30,31 feb *", "0 0 L * *", "0 0 15W * *"),
    *("0 0 * * 5L", "0 0 * * fri#2", "0 0 * * 5-7", "0 0 * * sun-fri", "@daily", "@hourly", "@weekly", "? * * * *"),
    *("0 3 1-31/2 jan-jun mon-fri", "0,15,30 * * * *", ", * * * *", "0 0 31 4,6,9,11 *", "0 0 31 2 mon", "x y z a b"),
)
ARGUMENTS = (
    *("--datadir=/x", "--datadir", "/x", "-h", "-h/x", "--data_dir=/x", "--datad=/x", "--loose-datadir=/x", "--port=1"),
    *("--init-file=/x", "--init_f=/x", "--user=root", "-uroot", "--defaults-file=/x", "--no-defaults", "--help", "-V"),
    *("--innodb-data-home-dir=/x", "--log-bin=/x/y", "--log-bin=binlog", "--innodb_undo_directory=../x", "--skip-ssl"),
    *("--skip-networking", "--skip-grant-tables", "--sql-mode=ANSI", "--skip-log-bin", "--initialize", "--", "--=x"),
    *("--endpoint=/x", "-endpoint=/x", "--nodeid=1", "--csi-mode=node", "--csiMode=node", "--v=9", "-v", "--batching"),
    *("--data_directory=/x", "--fsync=off", "--FSYNC=off", "-c fsync=off", "--max_connections=7", "--a.b=1"),
    *("--batching=maybe", "--http-endpoint=:1", "--statedir=/x", "--server-socket=/x", "--logtostderr=false"),
)
OPERATORS = (
    *("=", "==", "is", "!=", "not", "<", "<=", ">", ">=", "regexp", "version", "semver", "set_contains", "is_set"),
    *("set_contains_any", "set_contains_all", "is_not_set", "distinct_hosts", "distinct_property", "unknown", ""),
)
OPERANDS = (
    *("", "storage", "true", "0", "1", "2.5", "a,b", "(", "[", "a{1001}", "(?=x)", r"\d+", r"\pL", r"\z", "(?P<n>x)"),
    *(">= 1.2", "~> 1.2.3, < 2", "1.x", ">= x", ">= 1.0.0-beta1", "^a$", "a|b", "(?i)a", "*", r"\u0041", "[[:alpha:]]"),
    *("a**", "a++", "[a&&b]", "[a", r"\Qa\E", "(?x)a", r"(a)\1", "a{,3}", "[]a]", r"\x{110000}"),
    "999999999999999999999",
)
IMAGES: tuple[Any, ...] = (
    *("a:latest", "a", "UPPER:1", "a//b:1", "a:-1", "a:" + "t" * 129, "-a:1", "a@sha256:" + "0" * 64, "é:1"),
    *("localhost:5000/a:1", "a.b/c_d/e--f:1.0", ".a:1", "a:1@sha256:" + "0" * 64, "a_:1", "a" * 256 + ":1"),
)
HINTS: dict[str, tuple[Any, ...]] = {
    "clientRole": ("é", "r" * 64, "r" * 65, "role,with=all.@-+", "a b", "a/b"),
    "clientTags": TAGS,
    "tags": TAGS,
    "extraTags": (*TAGS, {"CSIVolumeName": "x"}, {f"k{n}": "v" for n in range(48)}),
    "namespace": ("default", "my_ns", "my-ns", "*"),
    "datacenters": ([""], ["*"], ["dc1", "dc1"], ["us-*"], ["[", "dc 1"]),
    "nodePool": ("", "all", "default", "a b", "p" * 128, "p" * 129, "é", "a/b", "*"),
    "name": ("a_b", "a-", "a", "-a", "a" * 63, "logs", "mysql-server", "plugin-efs-node", "mysql-backup-restore"),
    "jobId": ("a_b", "a-", "b" * 63, "logs", "mysql-server"),
    "id": ("a_b", "i" * 63, "efs", "aws-ebs0"),
    "controller": ("one", "j_b"),
    "node": ("one", "plugin-aws-ebs0-controller"),
    "version": ("v1.28.0", "v1.45.0", "v1.59.0", "v1.10", "1.2.3", "v99999999999999999999.0.0"),
    "image": IMAGES,
    "agentImage": IMAGES,
    "networkMode": ("", "host", "bridge", "none", "container:x", "a b", "é"),
    "ipcMode": ("", "host", "none", "private", "shareable", "container:x", "foo"),
    "hostMounts": (
        *([{"source": "/a", "target": "/csi"}], [{"source": "/a", "target": "/b"}, {"source": "/c", "target": "/b"}]),
        *([{"source": "/..", "target": "/"}], [{"source": "/a", "target": "/local/x"}]),
        [{"source": "/", "target": "/b/../c"}],
    ),
    "endpoint": (
        *("${CSI_ENDPOINT}", "unix:///csi/csi.sock", "/csi/csi.sock", "tcp://0.0.0.0:1", "", "unix:///elsewhere.sock"),
    ),
    "mountDir": ("/csi", "/..", "/local", "/a/../csi", "/", "/dev", "/secrets/x", "/csi/"),
    "stagePublishBaseDir": ("/local/csi", "/csi/x", "/..", "relative", "/csi/../x", "/csidata"),
    "healthTimeout": DURATIONS,
    "config": (
        *({"datadir": "/x"}, {"loose_datadir": "/x"}, {"innodb_undo_directory": "/x"}, {"max_connections": 500}),
        *({"fsync": "off"}, {"synchronous_commit": "off"}, {"hba_file": "/x"}, {"log_line_prefix": "it's \\ %m"}),
        *("", "driver: other", "x: [", "driver: nfs-client"),
    ),
    "volumeAttachLimit": (1, 128),
    "extraArgs": tuple([argument] for argument in ARGUMENTS),
    "serverArgs": (*([argument] for argument in ARGUMENTS), ["--datadir", "/x"]),
    "env": (
        *({"CSI_ENDPOINT": "x"}, {"CSI_NODE_ID": "x"}, {"NOMAD_SECRETS_DIR": "/x"}, {"MYSQLD_OPTS": "x"}),
        *({"PGDATA": "/x"}, {"A.B": ""}),
    ),
    "zone": ("us-west-2a", "us-west-2", "us-west-2-lax-1a", "eu-central-1b", "us-gov-west-1a"),
    "zones": (["us-west-2a", "us-west-2a"], ["us-west-2b"]),
    "count": (1, 2, 3, 100, 101, 1000),
    "sizeGib": (1, 3, 4, 124, 125, 1024, 1025, 16384, 16385, 65536, 65537),
    "capacity": ("1MiB", "100MiB", "8388607TiB", "8388608TiB", "99999999999999999999GiB", "0GiB"),
    "iops": (None, 99, 100, 200, 3000, 3001, 4000, 16000, 64000, 80000, 80001, 256000),
    "throughputMibps": (124, 125, 500, 750, 751, 1000, 2000, 2001),
    "kmsKeyArn": (KEYS[0], "arn:aws:kms:x", "arn:aws:kms:us-west-2:123456789012:alias/a", "arn:aws:kms:é", "key"),
    "snapshotId": ("snap-0123456789abcdef0", "snap-01234567", "snap-1", "snap-"),
    "externalId": ("vol-0123456789abcdef0", "vol-1", "fs-0123456789abcdef0:/a", "x y", "/path"),
    "mountFlags": (["ro"], ["noatime"], [""], ["a,b"], ["noatime", "noatime"]),
    "path": ("/", "/data", "/local", "/secrets", "/alloc/x", "/data/.", "/a/b", "/proc", "/é", "/data/../x"),
    "dataDir": ("/srv/mysql", "/etc/mysql", "/local/mysql", "/secrets/x", "/usr/x", "/var/lib/mysql", "/srv/.", "/é/x"),
    "label": ("http", "admin", "a-b", "a" * 31),
    "static": (0, 1, 80, 9000, 65535, 65536),
    "destination": (
        *("local/motd", "local/./motd", "local/motd/x", "secrets/a", "local/.", "alloc/x", "local/a/../b", "local/é"),
    ),
    "perms": ("0644", "0000", "0777", "644", "1777"),
    "port": ("http", "admin", 0, 3306, 65535, 9000),
    "checkPath": ("/", "", "http://x/", "%zz", "/%zz", "//[", "/a b", ":x", "/ok?x=1", "relative"),
    "attribute": ("", "${node.class}", "${attr.kernel.name}", "plain", "${", "${meta.x y}", "${node.datacenter}"),
    "operator": OPERATORS,
    "value": OPERANDS,
    "schedule": (*CRONS, "0 3 * * *", "0 3 1 * mon", "0 3 29 2 *", "5 */7 * * 1-5", "1 2 1-31/2 1-11/2 *"),
    "region": ("us-west-2", "eu-central-1", "us-gov-west-1", "us-west-2a", "é"),
    "keep": (None, 1, 1000, 1001),
    "keepDays": (None, 1, 36_500, 36_501),
    "days": (1, 35, 36, 36_501),
    "privileges": (
        *("ALL PRIVILEGES", "SELECT", "FOO", "FILE", "ALL", "ALL, SELECT", "SELECT, SELECT", "CREATE TEMPORARY TABLES"),
        *("TRUNCATE, REFERENCES", "SUPERUSER"),
    ),
    "databases": (
        *(["mysql"], ["app", "app"], ["information_schema"], ["App", "app"], ["select"], ["postgres"], ["template1"]),
    ),
    "database": ("app", "mysql", "nothing"),
    "serverUid": (0, 999, 2**31, 2**32 - 1, 2**32),
    "initScripts": ({"a.sql": ""}, {"a.sql": "SELECT 1"}, {".sql": "x"}, {"a.sh": "x"}, {"ü.sql": "x"}),
    "text": ("", " ", "{{ key }}", "x" * 65536),
    "secrets": ({"": "x"}, {"a": ""}, {"a": "x" * 65536}, {"a": "x" * 40000, "b": "y" * 40000}, {"a.b-c": "x"}),
    "stopAfterDisconnect": ("never", "1s", "20s", "2m", "2562047h", "2562048h", "99999999999999999999h", "0s", "8761h"),
    "key": ("k" * 65536, "x"),
    "parameters": ({"type": "gp3"}, {"encrypted": "false"}, {"tagSpecification_1": "aws:x=1"}, {"kmsKeyId": KEYS[0]}),
    "command": ("", "/bin/x", "a b"),
    "user": ("", "root", "1000:1000", "no such"),
}


def values(key: str, field: FieldInfo) -> st.SearchStrategy[Any]:
    """Values for a key: those at an edge, what its own rule takes, and a few of another kind."""
    name = key.rpartition(".")[2]
    kinds = [_of_kind(one, name) for one in alternatives(field.annotation)]
    patterns = [rule.pattern for rule in field.metadata if getattr(rule, "pattern", None)]
    known = HINTS.get(name, DURATIONS if name.endswith(("Timeout", "Interval", "Delay")) else ())
    own = [st.from_regex(pattern, fullmatch=True) for pattern in patterns]
    edges = [st.sampled_from(known)] * 3 if known else []
    return st.one_of(*edges, *kinds, *own, *([_OTHERS] if not known else []))


_OTHERS: st.SearchStrategy[Any] = st.sampled_from((None, "", "x", 0, True, 1.5, [], {}))
"""Values of another kind."""


def _of_kind(kind: Any, name: str) -> st.SearchStrategy[Any]:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(0, 100) | st.integers(20, 1000) | st.sampled_from(WHOLE)
    if origin is typing.Literal:
        return st.sampled_from(inner)
    if kind is str:
        plain = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
        return plain | plain | hostile.strings.filter(lambda text: len(text) < 100_000)
    if origin is list and str in alternatives(inner[0]):
        return st.lists(hostile.strings.filter(lambda text: len(text) < 1000), max_size=3)
    if origin is dict:
        short = st.text(max_size=8) | st.sampled_from(("a", "b", "é"))
        return st.dictionaries(short, short, max_size=4)
    return st.sampled_from((None, {}, [], {"name": name}))
