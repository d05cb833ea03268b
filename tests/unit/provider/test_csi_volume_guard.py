"""What the guard of a CSI volume refuses, and what it lets through."""

from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.csi_volume_guard import CsiVolumeGuard
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

BLANK: dict[str, Any] = {"volumeId": "mysql", "pluginId": "ebs", "externalId": "vol-1", "fsType": "ext4"}
MADE: dict[str, Any] = {
    "volumeId": "made",
    "pluginId": "ebs",
    "madeByDriver": True,
    "capacity": "2GiB",
    "zone": "us-west-2a",
    "fsType": "ext4",
    "protect": False,
}
RUNNING = {"Allocations": [{"ID": "0123456789", "JobID": "writer", "NodeName": "c1", "ClientStatus": "running"}]}
FREE: dict[str, Any] = {"ExternalID": "vol-1", "Allocations": []}


class Guard:
    """The guard of a volume on a cluster that has it, has none of the id, or does not answer."""

    def __init__(self, nomad: FakeNomad) -> None:
        self.nomad = nomad
        self.told: list[str] = []

    def first(self, made: dict[str, Any], **inputs: Any) -> dict[str, Any]:
        """The inputs of a guard that was made before there was a volume."""
        checked = CsiVolumeGuard(lambda: self.nomad.api).check(Context(), {}, made | inputs)
        assert checked.failures == []
        return checked.inputs

    def refusals(
        self, olds: dict[str, Any], news: dict[str, Any], volume: dict[str, Any] | None = FREE, *, away: bool = False
    ) -> str:
        self.nomad.put(f"volume/csi/{news['volumeId']}", volume)
        api = NomadApi("http://127.0.0.1:9") if away else self.nomad.api
        ctx = Context(sink=lambda _severity, message, _urn, _ephemeral: self.told.append(message))
        checked = CsiVolumeGuard(lambda: api).check(ctx, olds, news)
        self.nomad.put(f"volume/csi/{news['volumeId']}", None)
        return "\n".join(failure.reason for failure in checked.failures)


@pytest.fixture
def guard(nomad: FakeNomad) -> Guard:
    return Guard(nomad)


def test_another_file_system_is_refused_with_key_value_rule_and_remedy(guard: Guard) -> None:
    assert guard.refusals(guard.first(BLANK), BLANK | {"fsType": "xfs"}) == (
        "volumes.mysql.fsType is xfs: the volume is formatted with ext4, and a mount as xfs fails after its consumer "
        "was stopped. Keep fsType: ext4. For another one give a new volume a new name, and copy the data into it: a "
        "database by a dump (a snapshot restores ext4). If nothing on it is wanted, take the volume out of the "
        "settings, run `pulumi up`, and add it again"
    )


@pytest.mark.parametrize("made", [BLANK, MADE])
@pytest.mark.parametrize(("was", "is_now"), [("file-system", "block-device"), ("block-device", "file-system")])
def test_a_file_system_is_not_handed_out_as_a_device_nor_a_device_mounted(
    guard: Guard, made: dict[str, Any], was: str, is_now: str
) -> None:
    said = guard.refusals(guard.first(made, attachmentMode=was), made | {"attachmentMode": is_now})
    assert said.startswith(f"volumes.{made['volumeId']}.attachmentMode is {is_now}: ")
    assert f"Keep attachmentMode: {was}" in said


def test_what_came_with_contents_may_be_named_rightly_unless_something_runs_on_it(guard: Guard) -> None:
    existing = guard.first(BLANK, hasContents=True)
    assert guard.refusals(existing, BLANK | {"hasContents": True, "fsType": "xfs"}) == ""
    assert "volume mysql came with its contents" in guard.told[0]
    assert "is formatted with ext4" in guard.refusals(existing, BLANK | {"fsType": "xfs"}, RUNNING)
    assert "is formatted with ext4" in guard.refusals(existing, BLANK | {"fsType": "xfs"}, away=True)


def test_other_storage_under_the_name_may_have_another_file_system(guard: Guard) -> None:
    for external_id in ("vol-2", UNKNOWN):
        assert guard.refusals(guard.first(BLANK), BLANK | {"externalId": external_id, "fsType": "xfs"}, RUNNING) == ""


def test_shares_have_no_file_system_of_their_own(guard: Guard) -> None:
    assert guard.refusals(guard.first(BLANK, fsType="ext4"), BLANK | {"fsType": ""}) == ""
    assert guard.refusals(guard.first(BLANK, fsType="nfs"), BLANK | {"fsType": ""}) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"zone": "us-west-2b"},
            "volumes.made.zone is us-west-2b: a volume cannot move, and this one is in us-west-2a",
        ),
        ({"pluginId": "other"}, "volumes.made.plugin is other: the driver made the volume for plugin ebs"),
        ({"namespace": "other"}, "volumes.made.namespace is other: the driver made the volume for namespace default"),
        ({"parameters": {"type": "io2"}}, "volumes.made.parameters is changed: parameters count when"),
        ({"snapshotId": "snap-1"}, "volumes.made.snapshotId is snap-1: a volume takes a snapshot's contents when"),
        ({"capacity": "1025MiB"}, "volumes.made.sizeGib is 1025MiB: a volume cannot shrink, and this one has 2GiB"),
        ({"fsType": "xfs"}, "volumes.made.fsType is xfs: the volume is formatted with ext4"),
        ({"madeByDriver": False}, "volumes.made.provision is changed: its driver made the volume, and would delete it"),
    ],
)
def test_what_would_lose_what_is_on_a_drivers_volume_is_refused(
    guard: Guard, change: dict[str, Any], said: str
) -> None:
    assert said in guard.refusals(guard.first(MADE), MADE | change)
    # Unless it was never made, or is gone: then Nomad does not know it.
    assert guard.refusals(guard.first(MADE), MADE | change, None) == ""
    assert said in guard.refusals(guard.first(MADE), MADE | change, away=True)


def test_an_empty_volume_does_not_take_the_place_of_one_that_exists(guard: Guard) -> None:
    said = guard.refusals(guard.first(BLANK), BLANK | {"externalId": "", "madeByDriver": True, "capacity": "1GiB"})
    assert "volumes.mysql.provision is changed: the volume exists, and the driver would put an empty one" in said


def test_a_drivers_volume_grows_and_may_be_unprotected(guard: Guard) -> None:
    changed = MADE | {"capacity": "1TiB", "protect": False}
    assert guard.refusals(guard.first(MADE, protect=True), changed, RUNNING) == ""


def test_what_nomad_does_not_change_in_use_is_refused_in_use_only(guard: Guard) -> None:
    for change in ({"mountFlags": ["noatime"]}, {"accessMode": "multi-node-multi-writer"}):
        assert guard.refusals(guard.first(MADE), MADE | change) == ""
        said = guard.refusals(guard.first(MADE), MADE | change, RUNNING)
        assert "while the volume is in use, by allocation 01234567 of job writer on c1 (running)" in said
    # A registration is replaced after its consumer has stopped.
    assert guard.refusals(guard.first(BLANK), BLANK | {"mountFlags": ["noatime"]}, RUNNING) == ""


def test_a_volume_that_is_older_than_its_guard_is_compared_with_what_nomad_knows(guard: Guard) -> None:
    zone = {"Topologies": [{"Segments": {"topology.ebs.csi.aws.com/zone": "us-west-2a", "os": "linux"}}]}
    known = FREE | zone | {"PluginID": "ebs", "RequestedCapacityMin": 2 * 2**30}
    assert guard.refusals({}, MADE, known) == ""
    assert "cannot move, and this one is in us-west-2a" in guard.refusals({}, MADE | {"zone": "us-west-2b"}, known)
    assert "cannot shrink" in guard.refusals({}, MADE | {"capacity": "1GiB"}, known)
    assert guard.refusals({}, BLANK, known) == ""


def test_nomad_is_asked_about_changes_alone(guard: Guard) -> None:
    made = guard.first(MADE)
    guard.nomad.requests.clear()
    assert guard.refusals(made, MADE) == ""
    assert guard.nomad.requests == []


def test_what_later_checks_need_is_remembered(guard: Guard) -> None:
    check = CsiVolumeGuard(lambda: guard.nomad.api).check
    restored = guard.first(MADE, snapshotId="snap-1", hasContents=True, protect=True)
    later = check(Context(), restored, MADE).inputs
    assert (later["snapshotId"], later["hasContents"], later["finalSnapshot"]) == ("snap-1", True, True)
    assert check(Context(), restored, MADE | {"finalSnapshot": False}).inputs["finalSnapshot"] is False
    assert guard.first(MADE)["finalSnapshot"] is False


def test_values_that_are_not_known_yet_pass(guard: Guard) -> None:
    unknown = {"pluginId": UNKNOWN, "parameters": UNKNOWN, "snapshotId": UNKNOWN, "zone": UNKNOWN}
    assert guard.refusals(guard.first(MADE), MADE | unknown) == ""


def test_bad_inputs_are_refused(guard: Guard) -> None:
    assert "volumeId is 'a b'" in guard.refusals({}, BLANK | {"volumeId": "a b"})
    assert "attachmentMode is 'floppy'" in guard.refusals({}, BLANK | {"attachmentMode": "floppy"})
    assert "colour is not an input here" in guard.refusals({}, BLANK | {"colour": "red"})
