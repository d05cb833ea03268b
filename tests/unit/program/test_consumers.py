"""Jobs on volumes: what MySQL's extras, its dumps, and other programs ask of Nomad."""

import json
import re
from typing import Any

import pytest

from tests.unit.program.recorder import PASSWORD, SHARED, Resources, record, variables

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----"
SETTINGS: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "aws-ebs0"}, {"id": "efs", "driver": "efs"}],
    "volumes": [
        {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10},
        {"name": "dumps", "zone": "us-west-2a", "sizeGib": 10},
        {"name": "log", "zones": ["us-west-2a", "us-west-2b"], "count": 3, "sizeGib": 1},
        SHARED | {"plugin": "efs"},
    ],
    "mysql": {
        "volume": "mysql",
        "config": {"max_connections": 500, "event_scheduler": False},
        "initScripts": {"10-app.sql": "CREATE TABLE app.t (i INT);"},
        "tls": "required",
        "tlsCertificate": {"certificate": CERTIFICATE, "key": "private", "ca": CERTIFICATE},
        "databases": ["app"],
        "users": [{"name": "app", "database": "app"}],
        "backup": {"volume": "dumps", "keep": 3},
    },
    "consumers": [
        {
            "name": "logs",
            "count": 2,
            "image": "example/log:1.0",
            "mounts": [{"volume": "log", "path": "/log", "perAlloc": True}],
            "secrets": {"token": "whispered"},
            "files": [{"destination": "secrets/token", "text": "{{ key }}"}],
        },
        {
            "name": "writers",
            "count": 3,
            "canaries": 1,
            "image": "example/writer:1.0",
            "mounts": [{"volume": "shared", "path": "/shared"}],
        },
        {
            "name": "readers",
            "count": 2,
            "image": "nginx:1.29.1",
            "mounts": [{"volume": "shared", "path": "/usr/share/nginx/html", "readOnly": True}],
            "ports": [{"label": "http", "to": 80}],
            "service": {"port": "http", "check": "http"},
        },
    ],
}


@pytest.fixture(scope="module")
def resources() -> Resources:
    return record(SETTINGS)


def items(resources: Resources, name: str) -> dict[str, str]:
    known = resources[name].inputs["items"]
    # A secret is wrapped on its way to the engine.
    return {key: str(value) for key, value in known.get("value", known).items()}


def test_server_options_are_written_as_the_server_reads_them(resources: Resources) -> None:
    files = variables(resources["mysql-job"])["files"]
    assert files == {"my.cnf": "[mysqld]\nevent_scheduler = OFF\nmax_connections = 500\n"}


def test_a_certificate_reaches_the_server_through_its_variable_alone(resources: Resources) -> None:
    job = resources["mysql-job"]
    tls = variables(job)["tls"]
    assert (tls["certificate"], tls["ca"]) == (True, True)
    assert [option.partition("=")[0] for option in tls["args"]] == ["--ssl-cert", "--ssl-key", "--ssl-ca"]
    assert "--require-secure-transport=ON" in variables(job)["task"]["args"]
    assert variables(job)["task"]["uid"] == 999
    assert items(resources, "mysql-variable")["tls_key"] == "private"
    assert "private" not in json.dumps(job.inputs["hcl2"])


def test_each_account_has_a_drawn_password_in_the_servers_variable(resources: Resources) -> None:
    known = items(resources, "mysql-variable")
    assert {name: known[name] for name in known if "password" in name} == {
        "root_password": PASSWORD,
        "password_app": PASSWORD,
        "password_backup": PASSWORD,
    }


def test_the_account_that_dumps_may_read_everything_and_write_nothing(resources: Resources) -> None:
    statements = variables(resources["mysql-job"])["accounts"]["files"]["accounts.sql"]
    (granted,) = re.findall(r"^GRANT (.*) ON \*\.\* TO 'backup'@'%';$", statements, re.MULTILINE)
    words = set(granted.split(", "))
    assert "SELECT" in words
    assert not words & {"INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "SUPER", "ALL PRIVILEGES", "FILE"}


def test_the_job_that_dumps_reads_its_own_variable_which_does_not_hold_the_servers(resources: Resources) -> None:
    assert resources["mysql-backup-variable"].inputs["path"] == "nomad/jobs/mysql-backup"
    assert list(items(resources, "mysql-backup-variable")) == ["password"]
    assert resources["mysql-backup-restore-variable"].inputs["path"] == "nomad/jobs/mysql-backup-restore"


def test_the_dumps_have_a_gate_of_their_own(resources: Resources) -> None:
    gate = resources["mysql-backup-release-dumps"].inputs
    assert (gate["volumeId"], gate["consumerJobId"]) == ("dumps", "mysql-backup")
    assert variables(resources["mysql-backup-job"])["schedule"] == {"cron": "0 3 * * *", "keep": 3}


def test_a_set_has_one_gate_for_each_instance_that_has_a_volume(resources: Resources) -> None:
    gates = sorted(name for name in resources if name.startswith("consumer-logs-release"))
    assert gates == ["consumer-logs-release-log-0", "consumer-logs-release-log-1"]
    assert [resources[gate].inputs["volumeId"] for gate in gates] == ["log[0]", "log[1]"]
    (volume,) = variables(resources["consumer-logs-job"])["volumes"]
    assert (volume["source"], volume["per_alloc"]) == ("log", True)
    assert volume["releases"] == ["release-1", "release-1"]


def test_a_job_is_healthy_once_all_its_instances_are(resources: Resources) -> None:
    assert resources["consumer-writers-health"].inputs["allocations"] == 3


def test_several_writers_and_readers_share_one_volume(resources: Resources) -> None:
    shown = {
        name: (
            variables(resources[f"consumer-{name}-job"])["volumes"][0]["access_mode"],
            variables(resources[f"consumer-{name}-job"])["volumes"][0]["read_only"],
            variables(resources[f"consumer-{name}-job"])["instances"],
        )
        for name in ("writers", "readers")
    }
    assert shown == {
        "writers": ("multi-node-multi-writer", False, {"count": 3, "canaries": 1}),
        "readers": ("multi-node-multi-writer", True, {"count": 2, "canaries": 0}),
    }
    for name in ("writers", "readers"):
        assert resources[f"consumer-{name}-release-shared"].inputs["backend"] == "none"


def test_a_programs_secrets_are_in_its_variable_and_in_nothing_else(resources: Resources) -> None:
    holders = [name for name, resource in resources.items() if "whispered" in json.dumps(resource.inputs, default=str)]
    assert holders == ["consumer-logs-variable"]


@pytest.mark.parametrize(
    ("timeout_s", "health"),
    [
        (10, {"deadline": "300s", "progress_deadline": "360s"}),
        (7200, {"deadline": "7200s", "progress_deadline": "7260s"}),
    ],
)
def test_nomad_waits_for_an_instance_at_least_as_long_as_up_does(timeout_s: int, health: dict[str, str]) -> None:
    mysql = {**SETTINGS["mysql"], "timeoutS": timeout_s}
    consumers = [{**consumer, "timeoutS": timeout_s} for consumer in SETTINGS["consumers"]]
    found = record({**SETTINGS, "mysql": mysql, "consumers": consumers})
    services = ["mysql-job", *(f"consumer-{consumer['name']}-job" for consumer in consumers)]
    assert [variables(found[name])["health"] for name in services] == [health] * len(services)


@pytest.mark.parametrize(
    ("changes", "signal"),
    [
        ({"image": "example/program:1.0"}, ""),
        ({"image": "example/program:1.0", "killSignal": "SIGQUIT"}, "SIGQUIT"),
        ({"taskDriver": "exec", "command": "/bin/program"}, "SIGTERM"),
    ],
)
def test_a_container_ends_by_its_images_signal_unless_told_otherwise(changes: dict[str, Any], signal: str) -> None:
    """Nomad fails for minutes to end a container by a signal that a reboot has ended."""
    mounts = [{"volume": "dumps", "path": "/data"}]
    mysql = {"volume": "mysql"}
    made = record(SETTINGS | {"mysql": mysql, "consumers": [{"name": "program", "mounts": mounts, **changes}]})
    assert json.loads(made["consumer-program-job"].inputs["hcl2"]["vars"]["task"])["kill_signal"] == signal
