"""The image that the settings get, and the way back."""

from __future__ import annotations

from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version
from nomad_stateful.operate.upgrade_database import wanted

MYSQL, NEW = DATABASES["mysql"], Version((9, 7, 4))
SECTION = "nomad-stateful:mysql"
IMAGES = wanted.Images(SECTION, "mysql:8.4.4", "mysql:9.7.4")


def settings(**mysql: Any) -> dict[str, Any]:
    return {SECTION: {"volume": "mysql", **mysql}}


@pytest.mark.parametrize(
    ("now", "after"),
    [
        ("mysql:8.4.4", "mysql:9.7.4"),
        ("registry.example:5000/team/mysql:8.4.4", "registry.example:5000/team/mysql:9.7.4"),
        ("mysql:8.4.4-oraclelinux9", "mysql:9.7.4-oraclelinux9"),
    ],
)
def test_the_new_image_has_the_present_ones_name(now: str, after: str) -> None:
    found = wanted.images(MYSQL, now, NEW, "")
    assert found.settings == {"nomad-stateful:mysql.image": after}
    assert found.earlier == {"nomad-stateful:mysql.image": now}


def test_an_image_can_be_named() -> None:
    given = "mysql@sha256:" + "0" * 64
    assert wanted.images(MYSQL, "mysql:8.4", NEW, given).after == given


@pytest.mark.parametrize(
    ("now", "given", "why"),
    [
        ("mysql:8.4", "", "no whole version: name the new one by --image"),
        ("mysql@sha256:" + "0" * 64, "", "--image IMAGE"),
        ("mysql:8.4.4", "mysql:9.7.3", "give both the same version"),
    ],
)
def test_an_image_that_does_not_say_its_version_has_to_be_named(now: str, given: str, why: str) -> None:
    with pytest.raises(UpgradeRefusedError, match=why):
        wanted.images(MYSQL, now, NEW, given)


@pytest.mark.parametrize("pair", [("mariadb:11.4.2", "mysql:9.7.4"), ("mysql:8.4.4", "quay.io/x/mariadb:11.4.2")])
def test_mysql_and_mariadb_do_not_take_each_others_files(pair: tuple[str, str]) -> None:
    with pytest.raises(UpgradeRefusedError, match="MySQL does not read MariaDB's files"):
        wanted.refuse_other_server(MYSQL, *pair)


def volumes(**entry: Any) -> dict[str, Any]:
    own = {"name": "mysql", "zone": "us-west-2a", "sizeGib": 40, "protect": True, **entry}
    return settings() | {"nomad-stateful:volumes": [own, {"name": "other", "zone": "us-west-2b"}]}


def test_the_way_back_is_a_volume_like_the_old_one_from_the_snapshot() -> None:
    config = volumes(snapshotId="snap-0", snapshots=[{"name": "hourly", "keep": 24}], tags={"the team": "a b"})
    wait, change, update = wanted.way_back(config, IMAGES, "snap-1", "8.4.4", "prod")
    assert wait == "aws ec2 wait snapshot-completed --snapshot-ids snap-1"
    assert update == "pulumi up --stack prod"
    place = "nomad-stateful:volumes[2]"
    for words in (
        f"'{place}.name=mysql-8-4-4'",
        f"'{place}.sizeGib=40'",
        f"'{place}.protect=true'",
        f"'{place}.snapshotId=snap-1'",
        f"'{place}.snapshots[0].keep=24'",
        f"""'{place}.tags["the team"]=a b'""",
        "nomad-stateful:mysql.volume=mysql-8-4-4",
        "nomad-stateful:mysql.image=mysql:8.4.4",
    ):
        assert f"--plaintext {words}" in change
    assert "snap-0" not in change


def test_the_way_back_asks_for_the_volumes_secrets_and_shows_none() -> None:
    config = volumes(secrets={"token": "whispered", "two words": "shouted"})
    found = wanted.way_back(config, IMAGES, "snap-1", "8.4.4", "prod")
    assert not [command for command in found if "whispered" in command or "shouted" in command]
    asked = "pulumi config set --stack prod --secret --path 'nomad-stateful:volumes[2].secrets"
    assert found[2:] == [f"{asked}.token'", f'{asked}["two words"]\'', "pulumi up --stack prod"]


def test_the_way_back_takes_a_name_that_is_free() -> None:
    config = volumes()
    config["nomad-stateful:volumes"].append({"name": "mysql-8-4-4"})
    assert "mysql.volume=mysql-8-4-4-2" in wanted.way_back(config, IMAGES, "snap-1", "8.4.4", "prod")[1]


@pytest.mark.parametrize("entry", [{"provision": "plugin"}, {"provision": "existing"}])
def test_of_a_volume_that_pulumi_does_not_make_the_way_back_is_told(entry: dict[str, Any]) -> None:
    found = wanted.way_back(volumes(**entry), IMAGES, "snap-1", "8.4.4", "prod")
    assert "docs/volumes.md, Restore: a volume with snapshotId snap-1" in found[1]
