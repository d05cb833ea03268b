"""What the engine is told to do with an EBS volume, besides its inputs."""

from typing import Any
from unittest.mock import patch

from pulumi.runtime import mocks

from nomad_stateful.resource_types import EBS_VOLUME
from tests.unit.program.recorder import record
from tests.unit.program.test_components import SETTINGS


def requests(**archive: Any) -> dict[str, Any]:
    """The registrations of the EBS volumes by name, of which the second has further settings."""
    found: dict[str, Any] = {}
    answer = mocks.MockMonitor.RegisterResource

    def kept(self: mocks.MockMonitor, request: Any) -> Any:
        if request.type == EBS_VOLUME:
            found[request.name] = request
        return answer(self, request)  # type: ignore[no-untyped-call]

    with patch.object(mocks.MockMonitor, "RegisterResource", kept):
        record({**SETTINGS, "volumes": [SETTINGS["volumes"][0], SETTINGS["volumes"][1] | archive]})
    return found


def test_a_volume_is_kept_from_the_engine_until_it_may_move_or_is_unprotected() -> None:
    for changes, kept in (
        ({"protect": True}, (True, False)),
        ({"protect": False}, (False, False)),
        ({"protect": False, "retain": True}, (False, True)),
        ({"protect": True, "moveTo": "us-west-2c"}, (False, True)),
    ):
        made = requests(**changes)["ebs-archive-us-west-2b"]
        assert (made.protect, made.retainOnDelete) == kept, changes


def test_what_counts_at_creation_alone_replaces_no_volume_and_its_size_is_followed() -> None:
    ignored = requests()["ebs-mysql-us-west-2a"].ignoreChanges
    assert sorted(ignored) == ["encrypted", "kmsKeyId", "snapshotId", "volumeInitializationRate"]
