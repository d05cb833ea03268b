"""How long a client that is cut off lets a job run: which values there are, and how they reach the job."""

import json
from typing import Any

import pytest

from nomad_stateful.program.settings.errors import SettingsError
from tests.unit.program.recorder import record
from tests.unit.program.test_consumer_settings import VOLUMES, consumer, parse


@pytest.mark.parametrize("value", ["0s", "2", "2 m", "", "always", "1m30s"])
def test_a_time_that_nomad_would_take_otherwise_is_refused(value: str) -> None:
    for given in (
        {"consumers": [consumer(stopAfterDisconnect=value)]},
        {"consumers": [], "stopAfterDisconnect": value},
    ):
        with pytest.raises(SettingsError, match="must be a time such as 30s or 2m, or never"):
            parse(**given)


@pytest.mark.parametrize("value", ["1s", "19s"])
def test_a_time_within_two_heartbeats_is_refused(value: str) -> None:
    """A client under load is silent as long, and its job would be complete, which nothing starts again."""
    with pytest.raises(SettingsError, match=rf"stopAfterDisconnect is {value}: must be at least 20s"):
        parse([consumer(stopAfterDisconnect=value)])


@pytest.mark.parametrize(
    ("volume", "changes", "expected"),
    [
        ("read", {}, "1m"),
        ("shared", {}, "never"),
        ("shared", {"stopAfterDisconnect": "30s"}, "30s"),
        ("read", {"stopAfterDisconnect": "never"}, "never"),
        ("read", {"mount": {"readOnly": True}}, "never"),
    ],
)
def test_a_single_writer_is_stopped_and_one_of_many_is_not(volume: str, changes: dict[str, Any], expected: str) -> None:
    known = parse([consumer(volume, **changes)])
    assert known.stop_after_disconnect(known.consumers[0]) == expected


@pytest.mark.parametrize(("setting", "rendered"), [({}, "1m"), ({"stopAfterDisconnect": "never"}, "")])
def test_the_time_reaches_the_servers_job(setting: dict[str, Any], rendered: str) -> None:
    resources = record(
        {
            "clientRole": "nomad-client",
            "plugins": [{"id": "aws-ebs0"}, {"id": "efs", "driver": "efs"}],
            "volumes": VOLUMES,
            "mysql": {"volume": "mysql", **setting},
        }
    )
    variables = resources["mysql-job"].inputs["hcl2"]["vars"]
    assert json.loads(variables["disconnect"]) == {"stop_on_client_after": rendered}
