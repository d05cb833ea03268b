"""The settings of the failover watch, and the job that they become."""

from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings.errors import SettingsError
from tests.unit.program.recorder import SHARED, planned, record


def config(failover: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "clientRole": "nomad-client",
        "plugins": [{"id": "aws-ebs0"}],
        "volumes": [
            {"name": "mysql", "zone": "us-west-2a", "sizeGib": 10},
            {"name": "log", "zone": "us-west-2a", "count": 2, "sizeGib": 1},
        ],
        "mysql": {"volume": "mysql"},
        "agentImage": "agent:1.0",
        "failover": failover,
    } | more


@pytest.mark.parametrize(
    ("failover", "more", "expected"),
    [
        ({}, {"agentImage": None}, "agentImage is not set: failover runs in docker, by the agent's image"),
        ({"jobId": "mysql-server"}, {}, "failover.jobId is mysql-server"),
        ({"count": 0}, {}, "failover.count is 0"),
    ],
)
def test_what_could_not_watch_is_refused(failover: dict[str, Any], more: dict[str, Any], expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings.parse(config(failover, **more))
    assert expected in str(caught.value)


def test_it_is_refused_where_no_volume_is_on_ebs() -> None:
    plugin = {"id": "efs", "driver": "efs"}
    with pytest.raises(SettingsError, match="failover is set: watches EBS volumes, and the stack has none"):
        settings.parse(config({}, plugins=[plugin], volumes=[SHARED], mysql={}) | {"mysql": None})


def test_the_job_watches_each_registered_ebs_volume() -> None:
    resources = record(config({"fence": True}))
    variables = resources["failover-job"].inputs["hcl2"]["vars"]
    assert variables["volumes"] == '["mysql", "log[0]", "log[1]"]'
    assert '"fence": true' in variables["watch"]
    assert variables["aws"] == '{"account_id": "123456789012", "region": "us-west-2"}'
    health = resources["failover-health"].inputs
    assert (health["jobId"], health["allocations"]) == ("failover", 2)


def test_the_scheduler_is_asked_before_whether_there_are_clients_for_it() -> None:
    (watch,) = [one for one in planned(config({})).jobs if one.job_id == "failover"]
    assert (watch.key, watch.value, watch.driver, watch.parts[0].count) == ("failover.count", "2", "docker", 2)


def test_without_it_nothing_watches() -> None:
    base = config({})
    del base["failover"]
    assert not [name for name in record(base) if name.startswith("failover")]
