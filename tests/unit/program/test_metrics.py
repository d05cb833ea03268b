"""What the setting `metrics` adds, and that nothing is added without it."""

from typing import Any

import pytest

from nomad_stateful import jobspec as jobs
from nomad_stateful.program import settings
from tests.certificates import CERTIFICATE
from tests.unit.program.recorder import PASSWORD, SHARED, Resources, planned, record, variables
from tests.unit.program.test_components import SETTINGS

_EMPTY = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
UNNAMED = {"certificate": _EMPTY, "ca": _EMPTY, "key": "k"}
ARGUMENT = "--http-endpoint=0.0.0.0:${NOMAD_PORT_metrics}"


def with_metrics(value: Any, **others: Any) -> dict[str, Any]:
    return {**SETTINGS, **others, "metrics": value}


def refused(config: dict[str, Any]) -> str:
    with pytest.raises(settings.SettingsError) as caught:
        settings.parse(config)
    return str(caught.value)


@pytest.fixture(scope="module")
def without() -> Resources:
    return record(SETTINGS)


@pytest.fixture(scope="module")
def measured() -> Resources:
    return record(with_metrics(True))


def test_without_the_setting_nothing_is_added_and_false_is_the_same(without: Resources) -> None:
    assert set(record(with_metrics(False))) == set(without)
    assert [name for name in without if "metrics" in name] == []


def test_without_the_setting_the_drivers_serve_no_metrics(without: Resources) -> None:
    for role in ("controller", "node"):
        known = variables(without[f"plugin-aws-ebs0-{role}"])
        assert known["metrics"] == {"provider": ""}
        assert not any(argument.startswith("--http-endpoint") for argument in known["task"]["args"])


def test_to_switch_it_on_leaves_the_servers_job_and_its_secrets_as_they_are(
    without: Resources, measured: Resources
) -> None:
    for name in ("mysql-job", "mysql-variable", "mysql-release-mysql"):
        assert measured[name].inputs == without[name].inputs


def test_the_drivers_of_ebs_serve_their_metrics_on_the_port_of_their_service(measured: Resources) -> None:
    for role in ("controller", "node"):
        known = variables(measured[f"plugin-aws-ebs0-{role}"])
        assert known["metrics"] == {"provider": "nomad"}
        assert jobs.hcl_value([ARGUMENT])[1:-1] in measured[f"plugin-aws-ebs0-{role}"].inputs["hcl2"]["vars"]["task"]


def test_a_driver_without_metrics_of_its_own_is_not_asked_for_them() -> None:
    config = with_metrics(True, plugins=[{"id": "efs", "driver": "efs"}], volumes=[SHARED], mysql={})
    del config["mysql"]
    found = record(config)
    assert variables(found["plugin-efs-node"])["metrics"] == {"provider": ""}
    assert "volume-metrics-job" in found
    assert "mysql-metrics-job" not in found


def test_roots_password_is_where_only_the_task_that_makes_the_account_reads_it(measured: Resources) -> None:
    of_root = measured["mysql-metrics-account-variable"].inputs
    assert of_root["path"] == "nomad/jobs/mysql-metrics/exporter/account"
    assert "root_password" in str(of_root["items"])
    own = measured["mysql-metrics-variable"].inputs
    assert own["path"] == "nomad/jobs/mysql-metrics"
    assert "root_password" not in str(own["items"])


def test_the_exporters_own_password_is_in_its_variable_alone_and_an_output(measured: Resources) -> None:
    assert "mysql-metrics-web-password" in measured
    assert "web_password" in str(measured["mysql-metrics-variable"].inputs["items"])
    assert "web_password" not in str(measured["mysql-metrics-account-variable"].inputs["items"])


def test_no_password_is_in_a_job_file(measured: Resources) -> None:
    for name in ("mysql-metrics-job", "volume-metrics-job"):
        inputs = measured[name].inputs
        assert PASSWORD not in inputs["jobspec"] + str(inputs["hcl2"])


def test_with_an_authority_every_job_that_logs_in_over_the_network_verifies_the_server() -> None:
    volumes = [{"name": name, "zone": "us-west-2a", "sizeGib": 10} for name in ("mysql", "dumps")]
    given = {"certificate": CERTIFICATE, "key": "k", "ca": CERTIFICATE}
    mysql = {"volume": "mysql", "tlsCertificate": given, "backup": {"volume": "dumps"}}
    found = record(with_metrics(True, volumes=volumes, mysql=mysql))
    servers = {name: variables(found[f"{name}-job"])["server"] for name in ("mysql-backup", "mysql-backup-restore")}
    assert {name: server["ca"] for name, server in servers.items()} == dict.fromkeys(servers, CERTIFICATE)
    measured = variables(found["mysql-metrics-job"])["server"]
    assert measured["ca"] == CERTIFICATE
    exporter = variables(found["mysql-metrics-job"])["exporter"]["files"]["exporter.cnf"]
    assert "tls-server-name = db.example\n" in exporter
    without = record(with_metrics(True, volumes=volumes, mysql={**mysql, "tlsCertificate": {**given, "ca": None}}))
    assert variables(without["mysql-metrics-job"])["server"]["ca"] == ""


def test_each_exporter_can_be_left_out_and_placed() -> None:
    found = record(with_metrics({"volumes": False, "drivers": False, "mysql": {"port": 9104, "jobId": "exporter"}}))
    assert variables(found["mysql-metrics-job"])["service"] == {"port": 9104, "provider": "nomad"}
    assert variables(found["mysql-metrics-job"])["job"]["id"] == "exporter"
    assert "volume-metrics-job" not in found
    assert variables(found["plugin-aws-ebs0-node"])["metrics"] == {"provider": ""}
    assert "mysql-metrics-job" not in record(with_metrics({"mysql": False}))


def test_the_exporters_can_be_registered_in_consul() -> None:
    found = record(with_metrics({"taskDriver": "docker", "serviceProvider": "consul"}))
    for name in ("mysql-metrics", "volume-metrics"):
        assert variables(found[f"{name}-job"])["service"]["provider"] == "consul"


def test_an_up_waits_for_the_exporters(measured: Resources) -> None:
    for job_id in ("mysql-metrics", "volume-metrics"):
        health = measured[f"{job_id}-health"].inputs
        assert (health["jobId"], health["group"], health["timeoutS"]) == (job_id, "exporter", 300)


def test_preview_has_nomad_place_the_exporters_too() -> None:
    known = {job.key: job for job in planned(with_metrics(True)).jobs}
    assert not known["metrics.mysql.jobId"].on_every_client
    assert known["metrics.volumes.jobId"].on_every_client


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (with_metrics({"mysql": {"jobId": "mysql-server"}}), ("metrics.mysql.jobId is mysql-server", "mysql.jobId")),
        (with_metrics({"mysql": {"image": "prom/mysqld-exporter"}}), ("metrics.mysql.image", "pinned")),
        (with_metrics({"volumes": {"port": 70000}}), ("metrics.volumes.port is 70000",)),
        (with_metrics("yes"), ("metrics is yes",)),
        (with_metrics({"prometheus": True}), ("metrics.prometheus", "no such setting")),
        (
            with_metrics(True, plugins=[{"id": "aws-ebs0", "extraArgs": ["--http-endpoint=:3301"]}]),
            ("plugins.aws-ebs0.extraArgs is --http-endpoint=:3301", "metrics.drivers to false"),
        ),
        (
            with_metrics(
                True,
                mysql={"volume": "mysql", "databases": ["a"], "users": [{"name": "exporter", "database": "a"}]},
            ),
            ("mysql.users.exporter.name is exporter", "metrics.mysql to false"),
        ),
        (
            with_metrics(True, mysql={"volume": "mysql", "tlsCertificate": UNNAMED}),
            ("mysql.tlsCertificate.certificate is without a subjectAltName", "metrics.mysql to false"),
        ),
    ],
)
def test_what_cannot_work_is_refused_with_key_rule_and_remedy(config: dict[str, Any], words: tuple[str, ...]) -> None:
    said = refused(config)
    for word in words:
        assert word in said


def test_without_metrics_a_driver_keeps_its_own_address_and_a_user_its_name() -> None:
    plugins = [{"id": "aws-ebs0", "extraArgs": ["--http-endpoint=:3301"]}]
    mysql = {"volume": "mysql", "databases": ["a"], "users": [{"name": "exporter", "database": "a"}]}
    settings.parse({**SETTINGS, "plugins": plugins, "mysql": mysql})
    settings.parse(with_metrics({"drivers": False, "mysql": False}, plugins=plugins, mysql=mysql))
