"""What the guard of a CSI volume refuses, and what it lets through."""

from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadUnreachable
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.csi_volume_guard import CsiVolumeGuard
from nomad_stateful.waiting import Context

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


class Nomad:
    """A cluster with one volume, with none, or that does not answer."""

    def __init__(self, volume: dict[str, Any] | None = FREE, *, reachable: bool = True) -> None:
        self.volume = volume
        self.reachable = reachable
        self.asked = 0

    def find(self, path: str, **_params: Any) -> Any:
        self.asked += 1
        assert path.startswith("volume/csi/")
        if not self.reachable:
            raise NomadUnreachable("Nomad does not answer")
        return self.volume


def first(made: dict[str, Any], **inputs: Any) -> dict[str, Any]:
    checked = CsiVolumeGuard(lambda: Nomad(None)).check(Context(), {}, made | inputs)  # type: ignore[arg-type, return-value]
    assert checked.failures == []
    return checked.inputs


def refusals(
    olds: dict[str, Any], news: dict[str, Any], nomad: Nomad | None = None, told: list[str] | None = None
) -> str:
    known = nomad or Nomad()
    ctx = Context(sink=lambda _severity, message, _urn, _ephemeral: (told if told is not None else []).append(message))
    checked = CsiVolumeGuard(lambda: known).check(ctx, olds, news)  # type: ignore[arg-type, return-value]
    return "\n".join(failure.reason for failure in checked.failures)


def test_another_file_system_is_refused_with_key_value_rule_and_remedy() -> None:
    assert refusals(first(BLANK), BLANK | {"fsType": "xfs"}) == (
        "volumes.mysql.fsType is xfs: the volume is formatted with ext4, and a mount as xfs fails after its consumer "
        "was stopped. Keep fsType: ext4. For another one give a new volume a new name, and copy the data into it: a "
        "database by a dump (a snapshot restores ext4). If nothing on it is wanted, take the volume out of the "
        "settings, run `pulumi up`, and add it again"
    )


@pytest.mark.parametrize("made", [BLANK, MADE])
@pytest.mark.parametrize(("was", "is_now"), [("file-system", "block-device"), ("block-device", "file-system")])
def test_a_file_system_is_not_handed_out_as_a_device_nor_a_device_mounted(
    made: dict[str, Any], was: str, is_now: str
) -> None:
    said = refusals(first(made, attachmentMode=was), made | {"attachmentMode": is_now})
    assert said.startswith(f"volumes.{made['volumeId']}.attachmentMode is {is_now}: ")
    assert f"Keep attachmentMode: {was}" in said


def test_what_came_with_contents_may_be_named_rightly_unless_something_runs_on_it() -> None:
    existing = first(BLANK, hasContents=True)
    told: list[str] = []
    assert refusals(existing, BLANK | {"hasContents": True, "fsType": "xfs"}, told=told) == ""
    assert "volume mysql came with its contents" in told[0]
    assert "is formatted with ext4" in refusals(existing, BLANK | {"fsType": "xfs"}, Nomad(RUNNING))
    assert "is formatted with ext4" in refusals(existing, BLANK | {"fsType": "xfs"}, Nomad(reachable=False))


def test_other_storage_under_the_name_may_have_another_file_system() -> None:
    for external_id in ("vol-2", UNKNOWN):
        assert refusals(first(BLANK), BLANK | {"externalId": external_id, "fsType": "xfs"}, Nomad(RUNNING)) == ""


def test_shares_have_no_file_system_of_their_own() -> None:
    assert refusals(first(BLANK, fsType="ext4"), BLANK | {"fsType": ""}) == ""
    assert refusals(first(BLANK, fsType="nfs"), BLANK | {"fsType": ""}) == ""


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
def test_what_would_lose_what_is_on_a_drivers_volume_is_refused(change: dict[str, Any], said: str) -> None:
    assert said in refusals(first(MADE), MADE | change)
    # Unless it was never made, or is gone: then Nomad does not know it.
    assert refusals(first(MADE), MADE | change, Nomad(None)) == ""
    assert said in refusals(first(MADE), MADE | change, Nomad(reachable=False))


def test_an_empty_volume_does_not_take_the_place_of_one_that_exists() -> None:
    said = refusals(first(BLANK), BLANK | {"externalId": "", "madeByDriver": True, "capacity": "1GiB"})
    assert "volumes.mysql.provision is changed: the volume exists, and the driver would put an empty one" in said


def test_a_drivers_volume_grows_and_may_be_unprotected() -> None:
    changed = MADE | {"capacity": "1TiB", "protect": False}
    assert refusals(first(MADE, protect=True), changed, Nomad(RUNNING)) == ""


def test_what_nomad_does_not_change_in_use_is_refused_in_use_only() -> None:
    for change in ({"mountFlags": ["noatime"]}, {"accessMode": "multi-node-multi-writer"}):
        assert refusals(first(MADE), MADE | change) == ""
        said = refusals(first(MADE), MADE | change, Nomad(RUNNING))
        assert "while the volume is in use, by allocation 01234567 of job writer on c1 (running)" in said
    # A registration is replaced after its consumer has stopped.
    assert refusals(first(BLANK), BLANK | {"mountFlags": ["noatime"]}, Nomad(RUNNING)) == ""


def test_a_volume_that_is_older_than_its_guard_is_compared_with_what_nomad_knows() -> None:
    zone = {"Topologies": [{"Segments": {"topology.ebs.csi.aws.com/zone": "us-west-2a", "os": "linux"}}]}
    known = Nomad(FREE | zone | {"PluginID": "ebs", "RequestedCapacityMin": 2 * 2**30})
    assert refusals({}, MADE, known) == ""
    assert "cannot move, and this one is in us-west-2a" in refusals({}, MADE | {"zone": "us-west-2b"}, known)
    assert "cannot shrink" in refusals({}, MADE | {"capacity": "1GiB"}, known)
    assert refusals({}, BLANK, known) == ""


def test_nomad_is_asked_about_changes_alone() -> None:
    nomad = Nomad()
    assert refusals(first(MADE), MADE, nomad) == ""
    assert nomad.asked == 0


def test_what_later_checks_need_is_remembered() -> None:
    guard = CsiVolumeGuard(Nomad)  # type: ignore[arg-type]
    restored = first(MADE, snapshotId="snap-1", hasContents=True, protect=True)
    later = guard.check(Context(), restored, MADE).inputs
    assert (later["snapshotId"], later["hasContents"], later["finalSnapshot"]) == ("snap-1", True, True)
    assert guard.check(Context(), restored, MADE | {"finalSnapshot": False}).inputs["finalSnapshot"] is False
    assert first(MADE)["finalSnapshot"] is False


def test_values_that_are_not_known_yet_pass() -> None:
    unknown = {"pluginId": UNKNOWN, "parameters": UNKNOWN, "snapshotId": UNKNOWN, "zone": UNKNOWN}
    assert refusals(first(MADE), MADE | unknown) == ""


def test_bad_inputs_are_refused() -> None:
    assert "volumeId is 'a b'" in refusals({}, BLANK | {"volumeId": "a b"})
    assert "attachmentMode is 'floppy'" in refusals({}, BLANK | {"attachmentMode": "floppy"})
    assert "colour is not an input here" in refusals({}, BLANK | {"colour": "red"})
