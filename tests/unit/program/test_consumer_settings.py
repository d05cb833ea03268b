"""What consumers may not ask for: every refusal with its key, value, rule and remedy."""

from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings.errors import SettingsError
from tests.unit.program.recorder import SHARED

VOLUMES: list[dict[str, Any]] = [
    {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10},
    {"name": "dumps", "zone": "us-west-2a", "sizeGib": 10},
    {"name": "log", "zone": "us-west-2a", "count": 2, "sizeGib": 1},
    {"name": "read", "zone": "us-west-2a", "sizeGib": 1},
    SHARED | {"plugin": "efs"},
]


def parse(consumers: list[dict[str, Any]], **mysql: Any) -> settings.Settings:
    return settings.parse(
        {
            "clientRole": "nomad-client",
            "plugins": [{"id": "aws-ebs0"}, {"id": "efs", "driver": "efs"}],
            "volumes": VOLUMES,
            "mysql": {"volume": "mysql", **mysql},
            "consumers": consumers,
        }
    )


def consumer(volume: str = "read", mount: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    mounts = [{"volume": volume, "path": "/data", **(mount or {})}]
    return {"name": "program", "image": "example/program:1.0", "mounts": mounts, **changes}


def refused(*consumers: dict[str, Any], **mysql: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        parse(list(consumers), **mysql)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"count": 2}, "consumers.program.count is 2: read is single-node-writer, so a single instance can have it"),
        ({"canaries": 1}, "consumers.program.canaries is 1: read is single-node-writer, so a second copy"),
        ({"volume": "log"}, "mounts.0.volume is log: this is a set of volumes. Set perAlloc to true"),
        ({"mount": {"perAlloc": True}}, "mounts.0.perAlloc is true: read is a single volume"),
        (
            {"volume": "log", "mount": {"perAlloc": True}, "count": 3},
            "consumers.program.count is 3: the set log has 2 volumes, one for each instance. Use at most 2",
        ),
        ({"volume": "log", "mount": {"perAlloc": True}, "canaries": 1}, "canaries is 1: each volume of the set log"),
        ({"volume": "other"}, "mounts.0.volume is other: there is no such volume. Use one of mysql, dumps"),
        ({"volume": "mysql"}, "consumers.program.mounts.0.volume is mysql: job mysql-server has this volume"),
        (
            {"name": "mysql-server"},
            "consumers.mysql-server.name is mysql-server: mysql.jobId gives another job this id",
        ),
        ({"mount": {"path": "data"}}, "path is data: must be an absolute path, such as /data"),
        ({"mount": {"path": "/a/../b"}}, "path is /a/../b: must not contain .."),
        ({"image": "example/program"}, "must be pinned"),
        ({"image": None}, "program.image is not set: docker runs an image"),
        ({"taskDriver": "exec"}, "program.command is not set: exec runs a program"),
        ({"service": {"port": "http"}}, "service.port is http: there is no such port"),
        ({"files": [{"destination": "etc/x", "text": ""}]}, "destination is etc/x: must start with local/ or secrets/"),
        ({"killTimeout": "30"}, "must be a duration with its unit"),
        ({"count": 0}, "must be at least 1"),
        ({"mounts": []}, "must have at least 1 entry"),
    ],
)
def test_what_nomad_could_never_run_is_refused(changes: dict[str, Any], expected: str) -> None:
    assert expected in refused(consumer(**changes))


def test_two_volumes_at_one_path_are_refused() -> None:
    mounts = [{"volume": "read", "path": "/data"}, {"volume": "shared", "path": "/data"}]
    assert "mounts is /data: 2 volumes are mounted there" in refused(consumer(mounts=mounts))


def test_two_jobs_on_a_volume_with_a_single_writer_are_refused() -> None:
    text = refused(consumer(name="one"), consumer(name="two"))
    assert "consumers.two.mounts.0.volume is read: job one has this volume" in text


def test_a_shared_volume_has_as_many_writers_and_readers_as_are_wanted() -> None:
    known = parse(
        [
            consumer("shared", name="writers", count=5, canaries=2),
            consumer("shared", {"readOnly": True}, name="readers", count=9),
        ]
    )
    assert [one.count for one in known.consumers] == [5, 9]


def test_a_set_larger_than_the_job_is_fine() -> None:
    assert parse([consumer("log", {"perAlloc": True})]).consumers[0].count == 1


@pytest.mark.parametrize(
    ("mysql", "expected"),
    [
        ({"backup": {"volume": "mysql"}}, "mysql.backup.volume is mysql: this is the volume of the data"),
        ({"backup": {"volume": "log"}}, "mysql.backup.volume is log: dumps are files that are written to a single"),
        ({"backup": {"volume": "none"}}, "mysql.backup.volume is none: there is no such volume"),
        ({"backup": {"volume": "dumps", "schedule": "daily"}}, "must be five fields as for cron"),
        ({"backup": {"volume": "dumps", "keep": 0}}, "must be at least 1"),
        ({"config": {"datadir": "/x"}}, "mysql.config.datadir is /x: mysql.dataDir sets this"),
        ({"config": {"require-secure-transport": True}}, "mysql.tls sets this"),
        ({"config": {"max connections": 1}}, "is not a valid option name"),
        ({"config": {"sql_mode": "a\nb"}}, "must not contain line breaks"),
        ({"initScripts": {"../x.sql": ""}}, "must be a file name that ends in .sql"),
        ({"tls": "on"}, "mysql.tls is on: must be one of"),
        ({"users": [{"name": "app", "database": "app"}]}, "mysql.users.app.database is app: it is not among databases"),
        (
            {"databases": ["app"], "users": [{"name": "root", "database": "app"}]},
            "mysql.users.root.name is root: this account is reserved",
        ),
        ({"databases": ["a`b"]}, "must start with a letter"),
        ({"tlsCertificate": {"certificate": "abc", "key": "k"}}, "must be a certificate in PEM"),
    ],
)
def test_what_mysql_cannot_be_given_is_refused(mysql: dict[str, Any], expected: str) -> None:
    assert expected in refused(**mysql)


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "image",
    [
        *("mariadb:11", f"mariadb@{DIGEST}", f"mariadb:11.4.2@{DIGEST}", "docker.io/library/mariadb:11.4.2"),
        *("bitnami/mariadb:11.4", "localhost:5000/mariadb:11", "bitnami/mariadb-galera:11.4"),
    ],
)
def test_an_image_of_mariadb_is_refused_with_the_way_to_mysql(image: str) -> None:
    said = refused(image=image)
    assert f"mysql.image is {image}"[:80] in said
    assert "MySQL does not read MariaDB's files" in said
    assert "dumped by itself, and restored into MySQL on a new volume (docs/consumers.md#restore)" in said


@pytest.mark.parametrize(
    "image",
    [
        *("mysql:8.4.6", "mysql:8.4-after-mariadb", f"percona/percona-server@{DIGEST}", "mariadb:5000/mysql:9.7.4"),
        *("mariadb/mysql:9.7.4", "mymariadb:1"),
    ],
)
def test_an_image_is_judged_by_the_last_part_of_its_repository(image: str) -> None:
    assert parse([], image=image).database is not None


@pytest.mark.parametrize(
    "argument", ["--log-tc=/x", "--rocksdb-datadir=/x", "--loose-keyring-file-data=/x", "--enable-relay-log-index=/x"]
)
def test_files_of_the_data_stay_on_the_volume(argument: str) -> None:
    assert "this is a part of the data, and would be outside of the volume" in refused(serverArgs=[argument])
    inside = argument.replace("/x", "/srv/mysql/x")
    assert parse([], serverArgs=[inside]).database is not None


@pytest.mark.parametrize(
    "argument", ["--aria-log-dir-path=/x", "--tokudb-data-dir=/x", "--log-basename=/x", "--autoset-port"]
)
def test_options_that_mysql_has_not_are_left_to_the_server_which_does_not_start_with_them(argument: str) -> None:
    assert parse([], serverArgs=[argument]).database is not None


def test_a_certificate_without_tls_is_refused() -> None:
    given = {"certificate": "-----BEGIN CERTIFICATE-----", "key": "private"}
    text = refused(tls="off", tlsCertificate=given)
    assert "mysql.tls is off: there is a tlsCertificate" in text
    assert "private" not in text


def test_a_consumer_may_take_the_place_of_one_that_is_configured_no_more() -> None:
    assert parse([consumer(renamedFrom="earlier")]).consumers[0].renamed_from == "earlier"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (
            [consumer("log", {"perAlloc": True}, name="earlier", count=2)],
            "consumers.program.renamedFrom is earlier: a consumer of this name is configured",
        ),
        (
            [consumer("log", {"perAlloc": True}, name="second", count=2, renamedFrom="earlier")],
            "consumers.program.renamedFrom is earlier: 2 consumers had this name",
        ),
    ],
)
def test_an_earlier_name_is_nobody_elses(others: list[dict[str, Any]], expected: str) -> None:
    assert expected in refused(consumer(renamedFrom="earlier"), *others)
