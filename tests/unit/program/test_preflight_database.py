"""What the registered MySQL server tells before it is stopped."""

from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.program import settings
from nomad_stateful.program.preflight import database as preflight_database
from nomad_stateful.program.settings import sections
from tests.certificates import CERTIFICATE

MYSQL = sections.server(DATABASES["mysql"])


def mysql(image: str, **more: Any) -> settings.DatabaseSection:
    return MYSQL.model_validate({"volume": "disk", "image": image, **more})


def job(image: str, volume: str = "disk", data: str = "/srv/mysql") -> dict[str, Any]:
    task = {"name": "mysql", "image": image, "args": ["start.sh", f"--datadir={data}"], "volumes": [volume]}
    accounts = {"name": "accounts", "image": image, "args": [], "volumes": []}
    return {"registered": True, "tasks": [task, accounts], "failingRuns": []}


def test_a_group_that_runs_keeps_its_volumes_until_a_single_server_runs() -> None:
    routers = {"registered": True, "tasks": [{"name": "router"}], "failingRuns": []}
    server = mysql("mysql:9.7.4")
    (problem,) = preflight_database.former_group(server, routers, is_set=False)
    assert "mysql.group is left out: mysql-server is a group of three servers" in str(problem)
    assert "Leave volumes.disk the set that it is for this `up`" in str(problem)
    assert preflight_database.former_group(server, routers, is_set=True) == []
    assert preflight_database.former_group(server, job("mysql:9.7.4"), is_set=False) == []


def test_a_member_of_a_group_tells_which_image_wrote_its_data() -> None:
    assert mysql("mysql:9.7.4").former_job_ids == ["mysql-server-1", "mysql-server-router"]
    (problem,) = preflight_database.unreadable(mysql("mysql:8.4.6"), job("mysql:9.7.4", volume="disk[0]"))
    assert "the server runs mysql:9.7.4" in str(problem)


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ("mysql:9.7.4", "mysql:8.4.6"),
        ("mysql:9.7", "mysql:9.6.0"),
        ("mysql:9.6.1", "mysql:9.6.0"),
        ("mysql:8.0.36", "mysql:8.0.35-debian"),
        ("example.com:5000/own/mysql:9.7.4-oracle@sha256:" + "0" * 64, "example.com:5000/own/mysql:8.4.6"),
    ],
)
def test_an_image_older_than_the_one_that_wrote_the_data_is_refused_with_the_way_back(runs: str, wanted: str) -> None:
    (problem,) = preflight_database.unreadable(mysql(wanted), job(runs))
    assert preflight_database.unreadable(mysql(wanted), job(runs, "disk[2]")) == [problem]
    assert str(problem) == (
        f"mysql.image is {wanted}: the server runs {runs}, and an older one cannot read what that wrote. "
        f"Keep {runs} or a newer one; to go back, dump with it and restore into a server of the older image on a new "
        "volume."
    )


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ("mysql:9.7.4", "mysql:9.7.4"),
        ("mysql:8.4.6", "mysql:9.7.4"),
        ("mysql:9.7.4", "mysql:9.7.3"),  # a long-term series
        ("mysql:9.7.4", "mysql:9.7"),
        ("mysql:9.7.4", "percona:8.4.6"),
        ("mysql:9.7.4", "mysql:stable"),
        ("mysql@sha256:" + "0" * 64, "mysql:8.4.6"),
        ("", "mysql:8.4.6"),
    ],
)
def test_other_images_are_the_servers_own_to_judge(runs: str, wanted: str) -> None:
    assert preflight_database.unreadable(mysql(wanted), job(runs)) == []


@pytest.mark.parametrize(("runs", "wanted"), [("17", "18"), ("18.1", "17.6"), ("17.6-trixie", "18.1")])
def test_another_major_version_of_postgresql_is_refused_with_the_way_on(runs: str, wanted: str) -> None:
    (problem,) = preflight_database.unreadable(postgres(wanted), postgres_job(runs))
    assert str(problem) == (
        f"postgres.image is postgres:{wanted}: the server runs postgres:{runs}, and another major version does not "
        f"read what that wrote. Keep postgres:{runs}; to change, dump with it and restore into a server of the other "
        "image on a new volume (docs/postgres.md#versions)."
    )


@pytest.mark.parametrize(("runs", "wanted"), [("18", "18.1"), ("18.2", "18.1"), ("18.1", "18.1-alpine")])
def test_within_a_major_version_postgresql_reads_all_files(runs: str, wanted: str) -> None:
    assert preflight_database.unreadable(postgres(wanted), postgres_job(runs)) == []


def postgres(tag: str) -> settings.DatabaseSection:
    return sections.server(DATABASES["postgres"]).model_validate({"volume": "disk", "image": f"postgres:{tag}"})


def postgres_job(tag: str) -> dict[str, Any]:
    args = ["start.sh", "--data_directory=/srv/postgres"]
    return {"tasks": [{"name": "postgres", "image": f"postgres:{tag}", "args": args, "volumes": ["disk"]}]}


def warned(**config: Any) -> list[str]:
    volumes = [{"name": name, "zone": "us-west-2a", "sizeGib": 10} for name in ("disk", "dumps")]
    own = {"volume": "disk", **config.pop("mysql", {})}
    known = settings.parse({"clientRole": "r", "plugins": [{"id": "ebs"}], "volumes": volumes, "mysql": own, **config})
    assert known.database is not None
    return preflight_database.unverified(known, known.database)


def test_jobs_that_log_in_over_the_network_without_an_authority_are_warned_of() -> None:
    backup = {"backup": {"volume": "dumps"}}
    given = {"certificate": CERTIFICATE, "key": "k"}
    (said,) = warned(mysql=backup, metrics=True)
    assert "mysql.tlsCertificate.ca is not set: mysql-backup, mysql-backup-restore, mysql-metrics log in at" in said
    (said,) = warned(mysql={**backup, "tlsCertificate": given, "tls": "required"})
    assert "mysql-backup, mysql-backup-restore log in" in said
    assert warned(mysql={**backup, "tlsCertificate": {**given, "ca": CERTIFICATE}}, metrics=True) == []
    assert warned() == []


def test_the_warning_leads_to_the_page_that_a_wheel_has_brought(brought: Path) -> None:
    (said,) = warned(metrics=True)
    assert f"({brought}/consumers.md, TLS)" in said


def test_an_older_server_on_other_data_is_no_downgrade() -> None:
    assert preflight_database.unreadable(mysql("mysql:8.4.6"), job("mysql:9.7.4", volume="another")) == []
    assert preflight_database.unreadable(mysql("mysql:8.4.6"), job("mysql:9.7.4", data="/srv/another")) == []
    assert preflight_database.unreadable(mysql("mysql:8.4.6"), {"tasks": [], "failingRuns": []}) == []


def test_a_dump_that_fails_is_told_with_its_log() -> None:
    run = {
        "jobId": "mysql-backup/periodic-1",
        "failures": 3.0,
        "since": "2026-01-01T03:00:00Z",
        "allocationId": "0123456789abcdef",
        "task": "dump",
        "reason": "Exit Code: 2",
        "again": True,
    }
    section = mysql("mysql:8.4.6")
    (told,) = preflight_database.failing_dumps(section, {"failingRuns": [run]}, "default")
    assert told == (
        "mysql.backup: the dump mysql-backup/periodic-1 has failed 3 times since 2026-01-01T03:00:00Z (Exit Code: 2). "
        "See `nomad alloc logs -stderr 01234567 dump`. It is tried again."
    )
    (told,) = preflight_database.failing_dumps(section, {"failingRuns": [run | {"task": "upload"}]}, "databases")
    assert told.startswith("mysql.backup: the copy to S3 of mysql-backup/periodic-1 has failed 3 times")
    assert "`nomad alloc logs -stderr -namespace databases 01234567 upload`" in told
    (told,) = preflight_database.failing_dumps(section, {"failingRuns": [run | {"again": False}]}, "default")
    assert told.endswith("It is not tried again: `nomad job periodic force` after the fix.")
