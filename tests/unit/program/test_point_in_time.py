"""Binary logs in S3: what is refused, what is made for them, and what the server and its job are told."""

import json
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings import SettingsError
from tests.unit.program.recorder import record

AGENT = "example/nomad-stateful-agent:1.0"


def config(point_in_time: dict[str, Any] | None, **mysql: Any) -> dict[str, Any]:
    """A stack with MySQL, and copies of its logs."""
    own = {} if point_in_time is None else {"pointInTime": point_in_time}
    return {
        "clientRole": "nomad-client",
        "agentImage": AGENT,
        "plugins": [{"id": "aws-ebs0"}],
        "volumes": [{"name": "mysql", "zone": "us-west-2a", "sizeGib": 10}],
        "mysql": {"volume": "mysql", **own, **mysql},
    }


def test_without_the_setting_nothing_is_made_and_the_server_runs_as_it_did() -> None:
    made = record(config(None))
    variables = made["mysql-job"].inputs["hcl2"]["vars"]
    assert json.loads(variables["binlogs"])["bucket"] == ""
    assert "--gtid-mode=ON" not in json.loads(variables["task"])["args"]
    assert "mysql-binlogs-access-policy" not in made
    assert not any(one.typ.startswith("aws:s3") for one in made.values())


def test_the_server_runs_with_gtids_and_an_account_that_may_only_close_logs() -> None:
    made = record(config({"s3": {"prefix": "db/"}, "intervalS": 20}))
    variables = {name: json.loads(text) for name, text in made["mysql-job"].inputs["hcl2"]["vars"].items()}
    assert {"--gtid-mode=ON", "--enforce-gtid-consistency=ON"} <= set(variables["task"]["args"])
    statements = variables["accounts"]["files"]["accounts.sql"].splitlines()
    assert [one for one in statements if one.startswith("GRANT")] == ["GRANT RELOAD ON *.* TO 'binlogs'@'%';"]
    binlogs = variables["binlogs"]
    assert (binlogs["prefix"], binlogs["account"], binlogs["interval_s"]) == ("db/", "binlogs", 20)
    assert binlogs["bucket"]
    (document,) = [
        json.loads(one.inputs["policy"]) for name, one in made.items() if name == "mysql-binlogs-access-policy"
    ]
    objects = {one["Sid"]: one["Resource"] for one in document["Statement"]}
    assert objects["WriteNewDumps"] == f"arn:aws:s3:::{binlogs['bucket']}/db/*"
    assert objects["ReplaceWhatWasSeen"] == f"arn:aws:s3:::{binlogs['bucket']}/db/binlogs/until"
    assert not any("Delete" in action for one in document["Statement"] for action in one["Action"])


def test_dumps_and_logs_have_a_bucket_each() -> None:
    wanted = config({"s3": {}}, backup={"volume": "dumps", "s3": {}})
    wanted["volumes"].append({"name": "dumps", "zone": "us-west-2a", "sizeGib": 5})
    made = record(wanted)
    assert {name for name, one in made.items() if one.typ == "aws:s3/bucket:Bucket"} == {
        "mysql-dumps-bucket",
        "mysql-binlogs-bucket",
    }


@pytest.mark.parametrize(
    ("mysql", "key"),
    [
        ({"config": {"skip_log_bin": True}}, "mysql.config.skip_log_bin"),
        ({"config": {"log-bin": "other"}}, "mysql.config.log-bin"),
        ({"config": {"gtid_mode": "OFF"}}, "mysql.config.gtid_mode"),
        ({"config": {"enforce_gtid_consistency": "WARN"}}, "mysql.config.enforce_gtid_consistency"),
        ({"config": {"binlog_encryption": True}}, "mysql.config.binlog_encryption"),
        ({"config": {"sync_binlog": 0}}, "mysql.config.sync_binlog"),
        ({"serverArgs": ["--binlog-ignore-db=scratch"]}, "mysql.serverArgs.0"),
        ({"serverArgs": ["--disable-log-bin"]}, "mysql.serverArgs.0"),
        ({"serverArgs": ["--loose-gtid-mode=OFF_PERMISSIVE"]}, "mysql.serverArgs.0"),
        ({"serverArgs": ["--skip-enforce-gtid-consistency=ON"]}, "mysql.serverArgs.0"),
        ({"serverArgs": ["--loose-skip-log-bin"]}, "mysql.serverArgs.0"),
        ({"serverArgs": ["--binlog-do=app"]}, "mysql.serverArgs.0"),
        ({"config": {"sync-bin": 0}}, "mysql.config.sync-bin"),
        ({"config": {"innodb_flush_log_at_trx_commit": 2}}, "mysql.config.innodb_flush_log_at_trx_commit"),
        ({"serverArgs": ["--loose-innodb-flush-log-at-trx-commit=0"]}, "mysql.serverArgs.0"),
        ({"config": {"binlog_error_action": "IGNORE_ERROR"}}, "mysql.config.binlog_error_action"),
        ({"config": {"binlog_format": "MIXED"}}, "mysql.config.binlog_format"),
        ({"serverArgs": ["--binlog-format=statement"]}, "mysql.serverArgs.0"),
        ({"config": {"replica_skip_errors": "all"}}, "mysql.config.replica_skip_errors"),
        ({"serverArgs": ["--slave-skip-errors=1062"]}, "mysql.serverArgs.0"),
        ({"config": {"replica_exec_mode": "IDEMPOTENT"}}, "mysql.config.replica_exec_mode"),
        ({"config": {"slave_exec_mode": "idempotent"}}, "mysql.config.slave_exec_mode"),
        ({"serverArgs": ["--skip-log-replica-updates"]}, "mysql.serverArgs.0"),
        ({"config": {"log_slave_updates": "OFF"}}, "mysql.config.log_slave_updates"),
        ({"serverArgs": ["--replicate-wild-do-table=app.%"]}, "mysql.serverArgs.0"),
        ({"config": {"replicate_ignore_db": "scratch"}}, "mysql.config.replicate_ignore_db"),
        ({"config": {"binlog_expire_logs_seconds": 3600}}, "mysql.config.binlog_expire_logs_seconds"),
        ({"serverArgs": ["--binlog-expire-logs-seconds=1K"]}, "mysql.serverArgs.0"),
        ({"config": {"binlog_expire_logs_seconds": "1 day"}}, "mysql.config.binlog_expire_logs_seconds"),
        ({"config": {"expire_logs_days": 7}}, "mysql.config.expire_logs_days"),
    ],
)
def test_options_that_keep_transactions_out_of_the_logs_are_refused(mysql: dict[str, Any], key: str) -> None:
    settings.parse(config(None, **mysql))
    with pytest.raises(SettingsError, match="pointInTime needs") as refused:
        settings.parse(config({"s3": {}}, **mysql))
    assert key in str(refused.value)


@pytest.mark.parametrize(
    "mysql",
    [
        {"config": {"gtid_mode": "ON", "sync_binlog": 1}},
        {"serverArgs": ["--gtid-mode=on", "--loose-enforce-gtid=1"]},
        {"config": {"innodb_flush_log_at_trx_commit": 1, "binlog_format": "row", "replica_exec_mode": "STRICT"}},
        {"config": {"binlog_error_action": "ABORT_SERVER", "binlog_expire_logs_seconds": 86400}},
        {
            "serverArgs": [
                "--binlog-expire-logs-seconds=0",
                "--innodb-flush-log-at-timeout=5",
                "--replica-net-timeout=9",
            ]
        },
        {"serverArgs": ["--binlog-expire-logs-seconds=1M", "--replicate-same-server-id=OFF"]},
    ],
)
def test_options_that_say_the_same_are_taken(mysql: dict[str, Any]) -> None:
    settings.parse(config({"s3": {}}, **mysql))


@pytest.mark.parametrize("interval", [1, 60])
def test_a_pause_that_is_too_short_or_leaves_more_than_a_minute_behind_is_refused(interval: int) -> None:
    with pytest.raises(SettingsError, match="intervalS"):
        settings.parse(config({"s3": {}, "intervalS": interval}))


def test_its_account_is_reserved() -> None:
    with pytest.raises(SettingsError, match="reserved"):
        settings.parse(config({"s3": {}}, databases=["app"], users=[{"name": "binlogs", "database": "app"}]))
