"""Times of jobs: the settings refuse what Nomad refuses, and nothing else."""

import subprocess
from typing import Any

import pytest

from nomad_stateful import jobspec as jobs
from nomad_stateful.components.job_variables import deadlines
from nomad_stateful.nomad.deadlines import seconds
from nomad_stateful.nomad.job_rendering import render
from nomad_stateful.program import settings
from tools import toolchain

pytestmark = pytest.mark.nomad


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, ""),
        ({"restartAttempts": 0}, "mysql.restartAttempts"),
        ({"restartDelay": "31s"}, "mysql.restartDelay"),
        ({"restartDelay": "30s"}, ""),
        ({"restartAttempts": 1, "restartInterval": "4s", "restartDelay": "1s"}, "mysql.restartInterval"),
        ({"restartAttempts": 1, "restartInterval": "5s", "restartDelay": "1s"}, ""),
        ({"checkInterval": "500ms"}, "mysql.checkInterval"),
        ({"checkTimeout": "900ms"}, "mysql.checkTimeout"),
        ({"checkInterval": "1s", "checkTimeout": "1s"}, ""),
        ({"timeoutS": 10}, ""),
        ({"timeoutS": 86400}, ""),
    ],
)
def test_the_settings_refuse_the_times_that_nomad_refuses(changes: dict[str, Any], key: str) -> None:
    assert refused_key(changes) == key
    mysql: dict[str, Any] = {
        "restartAttempts": 10,
        "restartInterval": "5m",
        "restartDelay": "5s",
        "timeoutS": 300,
    } | changes
    variables = {
        "restart": {
            "attempts": mysql["restartAttempts"],
            "interval": mysql["restartInterval"],
            "delay": mysql["restartDelay"],
        },
        "service": {
            "port": 3306,
            "provider": "nomad",
            "check_interval": changes.get("checkInterval", "2s"),
            "check_timeout": changes.get("checkTimeout", "2s"),
        },
        "health": deadlines(mysql["timeoutS"]),
    }
    assert nomad_takes(variables) == (key == "")


def refused_key(changes: dict[str, Any]) -> str:
    config = {
        "clientRole": "r",
        "plugins": [{"id": "ebs"}],
        "volumes": [{"name": "disk", "zone": "us-west-2a", "sizeGib": 1}],
        "mysql": {"volume": "disk", **changes},
    }
    try:
        settings.parse(config)
    except settings.SettingsError as error:
        return str(error).split("- ", 1)[-1].split(" is ", 1)[0]
    return ""


def nomad_takes(variables: dict[str, Any]) -> bool:
    words = [f"-var={name}={jobs.hcl_value(value)}" for name, value in variables.items()]
    files = [f"-var-file={jobs.FOLDER / 'database.vars.hcl'}", *words, str(jobs.FOLDER / "database.nomad.hcl")]
    validate = [str(toolchain.ensure().nomad), "job", "validate", "-address=http://127.0.0.1:1", *files]
    return subprocess.run(validate, capture_output=True, check=False).returncode == 0


def test_a_service_of_a_consumer_has_the_same_rules() -> None:
    consumer = {"name": "c", "image": "a:1", "mounts": [{"volume": "disk", "path": "/d"}]}
    config = {
        "clientRole": "r",
        "plugins": [{"id": "ebs"}],
        "volumes": [{"name": "disk", "zone": "us-west-2a", "sizeGib": 1}],
    }
    for more, told in (
        ({"restartDelay": "1m"}, "restartDelay is 1m: 10 restarts with this pause do not fit into restartInterval"),
        ({"ports": [{"label": "p"}], "service": {"port": "p", "checkTimeout": "10ms"}}, "checkTimeout is 10ms"),
    ):
        with pytest.raises(settings.SettingsError, match=told):
            settings.parse({**config, "consumers": [{**consumer, **more}]})


def test_a_duration_of_several_units_is_read_whole() -> None:
    assert seconds("1h2m3s500ms") == 3723.5


def test_docker_is_not_told_which_signal_ends_mysql() -> None:
    """Nomad 1.11 sends it to containers that have ended too, fails, and counts them as running for minutes."""
    text = (jobs.FOLDER / "database.nomad.hcl").read_text(encoding="utf-8")
    job = render(toolchain.ensure().nomad, text, {}, f"-var-file={jobs.FOLDER / 'database.vars.hcl'}")
    tasks = job["TaskGroups"][0]["Tasks"]
    assert next(task["KillSignal"] for task in tasks if task["Name"] == "mysql") == ""
