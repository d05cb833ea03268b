"""What the settings of MySQL as a group of three servers refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings import SettingsError
from tests.certificates import Authority
from tests.unit.program.test_group import ZONES, config, planned


def refused(given: dict[str, Any]) -> str:
    with pytest.raises(SettingsError, match="nothing was created") as error:
        settings.parse(given)
    return str(error.value)


@pytest.mark.parametrize(
    ("mysql", "volume", "said"),
    [
        ({}, {"count": 2, "zones": ZONES[:2]}, "mysql.volume is data: a group has 3 volumes in 3 zones, and it is 2"),
        ({}, {"zones": ZONES[:2]}, "a group has 3 volumes in 3 zones, and it is 3 in us-west-2a, us-west-2b"),
        ({}, {"count": None, "zones": [], "zone": ZONES[0]}, "and it is 1 in us-west-2a"),
        ({"port": 0}, {}, "mysql.port is 0: the routers of a group have one port on every client"),
        ({"group": {"memberPort": 3307}}, {}, "group.memberPort is the same port"),
        ({"tls": "off"}, {}, "mysql.tls is off: members copy from each other by TLS alone"),
        ({"image": "mysql:8.0.44"}, {}, "mysql.image is mysql:8.0.44: a group is of MySQL 8.4 or newer"),
        ({"jobId": "m" * 57}, {}, "a group takes 56 characters at most: other names are made of it"),
        ({"killTimeout": "29s"}, {}, "mysql.killTimeout is 29s: a member hands the primary over before"),
        *(
            ({"group": {"router": {"image": image}}}, {}, f"router.image is {image}: the routers need HAProxy 3.1")
            for image in ("haproxy:3.0.5", "haproxy:2.9-alpine", "haproxy:2", "haproxytech/haproxy-debian:3.0")
        ),
        ({"memoryMib": 1000}, {}, "mysql.memoryMib is 1000: a member needs 896 MiB and group.messageCacheMib"),
        ({"config": {"innodb_buffer_pool_size": "2G"}}, {}, "memoryMib is 1536: a member needs 896 MiB and group.mess"),
        ({"config": {"loose-innodb-buffer-pool-size": 2 << 30}}, {}, "128, and 1920 for its buffer pool. Set 2944 or"),
        ({"serverArgs": ["--innodb-buffer-pool-size=2G"]}, {}, "128, and 1920 for its buffer pool. Set 2944 or"),
        (
            {"config": {"innodb_dedicated_server": True}},
            {},
            "by this the server chooses that. Remove it, and set innodb",
        ),
        ({"serverArgs": ["--loose-innodb-dedicated-server"]}, {}, "by this the server chooses that"),
        ({"config": {"group-replication-consistency": "EVENTUAL"}}, {}, "group decides options that begin with"),
        ({"serverArgs": ["--loose-group_replication_bootstrap_group=ON"]}, {}, "group decides options that begin with"),
        ({"config": {"group_replication_transaction_size_limit": 1}}, {}, "but loose-group-replication-transaction-"),
        *(
            (
                {"config": {"loose_group_replication_transaction_size_limit": size}},
                {},
                "must be bytes, 2147483647 at most",
            )
            for size in ("2G", -1, "any")
        ),
        ({"config": {"server_id": 7}}, {}, "mysql.config.server_id is 7: group decides server-id"),
        ({"config": {"super-read-only": True}}, {}, "group decides"),
        ({"config": {"relay_log_recovery": True}}, {}, "relay_log_recovery is ON: group decides relay-log-recovery"),
        ({"serverArgs": ["--skip-relay-log-purge"]}, {}, "group decides relay-log-purge"),
        ({"config": {"default_table_encryption": True}}, {}, "a group takes no member with another value than the"),
        ({"config": {"default_password_lifetime": 90}}, {}, "accounts would expire by which members and agents log in"),
        ({"serverArgs": ["--default-password-lifetime=365"]}, {}, "have accounts of your own expire by ALTER USER"),
        ({"config": {"performance_schema": False}}, {}, "performance_schema is OFF: group needs performance-schema ON"),
        ({"config": {"performance-schema": 0}}, {}, "group needs performance-schema ON: by it the agent asks"),
        ({"serverArgs": ["--skip-performance-schema"]}, {}, "group needs performance-schema ON: by it the agent asks"),
        *(
            ({"config": {"performance_schema_instrument": off}}, {}, "group needs performance-schema to count writes")
            for off in ("%=OFF", "wait/io/%=off", "wait/io/file/sql/binlog=0", "'wait/io/file/innodb/%= FALSE'")
        ),
        ({"config": {"performance_schema_consumer_global_instrumentation": 0}}, {}, "global-instrumentation ON: by it"),
        ({"serverArgs": ["--performance-schema-instrument=wait/%=NO"]}, {}, "performance-schema to count writes of"),
        ({"config": {"performance_schema_max_file_classes": 0}}, {}, "performance-schema to count writes of files"),
        ({"config": {"performance-schema-max-file-instances": 1}}, {}, "performance-schema to count writes of files"),
        *(
            ({"config": {f"{loose}performance_schema_max_{what}": 1}}, {}, "and to show what sessions wait for: by it")
            for what in ("thread_instances", "thread_classes", "stage_classes")
            for loose in ("", "loose_")
        ),
        ({"config": {"loose-performance-schema-max-thread-instances": 0}}, {}, "show what sessions wait for"),
        ({"serverArgs": ["--performance-schema-max-stage-classes=0"]}, {}, "show what sessions wait for"),
        ({"serverArgs": ["--loose_performance_schema_max_thread_classes=0"]}, {}, "show what sessions wait for"),
        ({"serverArgs": ["--skip-log-bin"]}, {}, "group needs every transaction in the binary logs"),
        ({"config": {"sync_binlog": 0}}, {}, "group needs sync-binlog 1"),
        ({"users": [{"name": "nomad_group", "database": "shop"}], "databases": ["shop"]}, {}, "account is reserved"),
        ({"group": False}, {}, "mysql.group"),
    ],
)
def test_what_a_group_cannot_have_is_refused(mysql: dict[str, Any], volume: dict[str, Any], said: str) -> None:
    assert said in refused(config(mysql, volume))


def test_a_group_takes_other_options_of_what_it_needs_and_decides() -> None:
    given = {"performance_schema": True, "performance_schema_max_digest_length": 0, "relay_log_space_limit": 0}
    given["default_password_lifetime"] = 0
    assert planned(config=given).database is not None
    for instrument in ("wait/synch/%=OFF", "wait/io/file/%=COUNTED", "%=ON", "memory/%=OFF"):
        assert planned(config={"performance_schema_instrument": instrument}).database is not None


@pytest.mark.parametrize(
    "image",
    [
        *("haproxy:3", "haproxy:3.1", "haproxy:3.2.9-alpine", "haproxy:lts", f"haproxy@sha256:{'0' * 64}"),
        # The version of an image of one's own says nothing of the HAProxy in it.
        "registry.example.com/our-router:1.2",
    ],
)
def test_routers_have_an_image_that_is_new_enough_or_does_not_say(image: str) -> None:
    assert planned(group={"router": {"image": image}}).database is not None


def test_a_group_takes_the_longest_job_id_and_the_shortest_kill_timeout() -> None:
    names = {job.job_id for job in planned(jobId="m" * 56, killTimeout="30s").jobs}
    assert max(map(len, names)) == 63


def certificate(folder: Path, *names: str) -> dict[str, str]:
    """Returns a certificate with these names, as it stands in the settings."""
    own = Authority.made(folder, ",".join(f"DNS:{name}" for name in names))
    return {"certificate": own.read("server-cert.pem"), "key": "private", "ca": own.read("ca.pem")}


def test_the_certificate_of_members_that_verify_each_other_has_the_name_of_each(tmp_path: Path) -> None:
    one = certificate(tmp_path / "one", "db.example", "mysql-server-1")
    said = refused(config({"tlsCertificate": one}))
    assert (
        "mysql.tlsCertificate.certificate is for db.example, mysql-server-1: with tlsCertificate.ca the members" in said
    )
    assert "it lacks mysql-server-2, mysql-server-3. Have it issued with these as DNS names" in said
    assert planned(tlsCertificate={key: one[key] for key in ("certificate", "key")}).database is not None
    each = certificate(tmp_path / "each", "mysql-server-1", "MySQL-server-2", "mysql-server-3")
    assert planned(tlsCertificate=each).database is not None
    assert "it lacks mysql-a-1, mysql-a-2, mysql-a-3" in refused(config({"tlsCertificate": each, "jobId": "mysql-a"}))


@pytest.mark.parametrize(("user", "taken"), [("mysql", False), ("999:999", False), ("root", True), ("0:0", True)])
def test_a_member_starts_as_root_which_may_write_its_hosts(user: str, taken: bool) -> None:
    if taken:
        assert planned(user=user).database is not None
    else:
        assert f"mysql.user is {user}: a member writes the others' addresses" in refused(config({"user": user}))


def consumer(*ports: int, **more: Any) -> dict[str, Any]:
    labelled = [{"label": f"p{index}", "static": port} for index, port in enumerate(ports)]
    own = {"name": "one", "image": "one:1", "mounts": [{"volume": "one", "path": "/data"}], "ports": labelled}
    return {"consumers": [own | more]}


def with_others(**others: Any) -> dict[str, Any]:
    given = config() | others
    given["volumes"].append({"name": "one", "zone": ZONES[0], "sizeGib": 1})
    return given


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"metrics": {"mysql": {"port": 3307}}}, "metrics.mysql.port is 3307: mysql.group.readPort is the same port"),
        ({"metrics": {"volumes": {"port": 13307}}}, "metrics.volumes.port is 13307: mysql.group.agentPort is the same"),
        (consumer(3306), "consumers.one.ports.0.static is 3306: mysql.port is the same port"),
        (
            consumer(0, 13306, nodePool="all"),
            "consumers.one.ports.1.static is 13306: mysql.group.memberPort is the same",
        ),
    ],
)
def test_no_other_job_has_a_port_of_a_group_on_its_clients(others: dict[str, Any], said: str) -> None:
    assert said in refused(with_others(**others))


@pytest.mark.parametrize("others", [consumer(3306, nodePool="other"), consumer(0, 3308) | {"metrics": True}])
def test_others_have_other_ports_or_other_clients(others: dict[str, Any]) -> None:
    assert settings.parse(with_others(**others)).database is not None


def test_a_group_needs_the_agent() -> None:
    given = config()
    del given["agentImage"]
    with pytest.raises(SettingsError, match=r"mysql\.group runs in docker, by the agent's image"):
        settings.parse(given)


@pytest.mark.parametrize(
    ("mysql", "memory_mib"),
    [
        ({}, 1536),
        ({"group": {"messageCacheMib": 1024}}, 2432),
        ({"memoryMib": 1024}, 1024),
        ({"memoryMib": 2944, "config": {"innodb_buffer_pool_size": "2G"}}, 2944),
        ({"memoryMib": 2944, "serverArgs": ["--innodb-buffer-pool-size=2G"]}, 2944),
        ({"config": {"innodb_buffer_pool_size": "64M"}}, 1536),
    ],
)
def test_a_member_has_memory_for_its_messages_too(mysql: dict[str, Any], memory_mib: int) -> None:
    database = planned(**mysql).database
    assert database is not None
    assert database.server["task"]["memory_mib"] == memory_mib
