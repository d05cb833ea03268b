"""Databases as data: what the settings and components have of each comes from its description."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from nomad_stateful.components.databases import COMPONENTS, components_of
from nomad_stateful.components.mysql import MysqlBackup, MysqlMetrics, MysqlServer
from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Login, Problem
from nomad_stateful.program import settings

MYSQL = DATABASES["mysql"]
OTHER = replace(
    MYSQL,
    name="other",
    title="Other",
    image="other:1.0",
    port=5432,
    uid=70,
    exporter_image="other-exporter:1.0",
    image_problem=lambda image: Problem("is not Other's", "set one of Other") if "mysql" in image else None,
    logs=None,
)
MODEL = settings.model_of({**DATABASES, "other": OTHER})


def parsed(**more: Any) -> settings.Settings:
    volumes = [{"name": name, "zone": "us-west-2a", "sizeGib": 10} for name in ("data", "dumps")]
    return MODEL.model_validate({"clientRole": "r", "plugins": [{"id": "ebs"}], "volumes": volumes, **more})


def refusal(**more: Any) -> dict[str, Any]:
    with pytest.raises(ValidationError) as refused:
        parsed(**more)
    (problem,) = refused.value.errors()
    return dict(problem.get("ctx") or {"type": problem["type"]})


def test_a_section_has_the_defaults_of_its_database() -> None:
    known = parsed(other={"volume": "data", "backup": {"volume": "dumps"}}, metrics=True)
    section = known.database
    assert section is not None
    assert section.kind is OTHER
    assert (section.job_id, section.port, section.image) == ("other-server", 5432, "other:1.0")
    assert (section.server_uid, section.data_dir) == (70, "/srv/other")
    assert section.backup_job_ids == ["other-backup", "other-backup-restore"]
    assert ("metrics.other.jobId", "other-metrics") in known.jobs


def test_a_stack_has_one_database() -> None:
    problem = refusal(mysql={"volume": "data"}, other={"volume": "dumps"})
    assert (problem["key"], problem["rule"]) == ("other", "a stack has one database, and mysql is set")


def test_an_image_is_judged_by_its_database() -> None:
    problem = refusal(other={"volume": "data", "image": "mysql:8.4.6"})
    assert (problem["key"], problem["value"], problem["rule"]) == ("image", "mysql:8.4.6", "is not Other's")


def test_a_database_without_logs_has_no_point_in_time() -> None:
    assert refusal(other={"volume": "data", "pointInTime": {"s3": {}}}) == {"type": "extra_forbidden"}


@pytest.mark.parametrize("name", ["pg_app", "postgres", "public", "backup"])
def test_no_account_has_a_name_that_the_server_or_the_program_reserves(name: str) -> None:
    users = [{"name": name, "database": "shop"}]
    problem = refusal(postgres={"volume": "data", "databases": ["shop"], "users": users})
    assert (problem["key"], problem["rule"]) == (f"users.{name}.name", "this account is reserved")


def test_the_components_are_named_after_their_database() -> None:
    assert [one.__name__ for one in components_of(OTHER)] == ["OtherServer", "OtherBackup", "OtherMetrics"]
    assert (MysqlServer, MysqlBackup, MysqlMetrics) == COMPONENTS["mysql"]


def test_a_subclass_of_a_component_is_of_its_type() -> None:
    mine = type("Orders", (MysqlServer,), {})
    assert vars(MysqlServer)["_type_name"] == getattr(mine, "_type_name") == "MysqlServer"  # noqa: B009


@pytest.mark.parametrize(("provider", "lookup"), [("nomad", "nomadService"), ("consul", "service")])
def test_a_client_finds_the_server_where_its_service_is_registered(provider: str, lookup: str) -> None:
    login = Login("db", provider, "preferred", verifies=False, account="a", password="p")
    assert (
        login.at("{{ .Port }}")
        == f'{{{{ with {lookup} "db" }}}}{{{{ with index . 0 }}}}{{{{ .Port }}}}{{{{ end }}}}{{{{ end }}}}'
    )
