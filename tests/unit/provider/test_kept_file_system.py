"""What the protection of a registered volume refuses, and how its file system follows the volume."""

from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadUnreachable
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.waiting import Context
from tests.unit.provider.test_volume_growth import Impatient, Nomad

# As an earlier release left it: what keeps the file system was elsewhere in the state.
EARLIER: dict[str, Any] = {"volumeName": "mysql", "volumeId": "vol-1", "finalSnapshot": True}
INPUTS: dict[str, Any] = {
    **EARLIER,
    "registeredIn": "default",
    "fsType": "ext4",
    "sizeGib": 1,
    "mountFlags": ["noatime"],
}


def protection(nomad: Any) -> VolumeProtection:
    return VolumeProtection(api=lambda: nomad)


def checked(**inputs: Any) -> dict[str, Any]:
    found = protection(Nomad()).check(Context(), {}, INPUTS | inputs)
    assert found.failures == []
    return found.inputs


def refusals(olds: dict[str, Any], news: dict[str, Any], nomad: Any) -> str:
    return "\n".join(failure.reason for failure in protection(nomad).check(Context(), olds, news).failures)


def registered(**changes: Any) -> Nomad:
    nomad = Nomad()
    assert nomad.volume is not None
    nomad.volume |= {"RequestedCapabilities": [{"AttachmentMode": "file-system"}], **changes}
    return nomad


CHANGES = [
    ({"fsType": "xfs"}, "volumes.mysql.fsType is xfs: the volume is formatted with ext4"),
    ({"attachmentMode": "block-device"}, "volumes.mysql.attachmentMode is block-device: there is a file system"),
]


@pytest.mark.parametrize("olds", [checked(), EARLIER], ids=["its own", "an earlier release's"])
@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_what_the_contents_would_not_survive_is_refused(olds: dict[str, Any], change: Any, said: str) -> None:
    assert refusals(olds, INPUTS | change, registered()).startswith(said)
    assert refusals(olds, INPUTS, registered()) == ""


def test_what_is_not_registered_yet_was_refused_by_nobody() -> None:
    nomad = Nomad()
    nomad.volume = None
    assert refusals(EARLIER, INPUTS | {"fsType": "xfs"}, nomad) == ""


class Unreachable:
    def find(self, _path: str, **_params: Any) -> Any:
        raise NomadUnreachable("Nomad does not answer")


def test_without_nomads_answer_contents_count_as_used() -> None:
    olds = checked(hasContents=True)
    assert "Keep fsType: ext4" in refusals(olds, INPUTS | {"fsType": "xfs"}, Unreachable())


def test_that_a_volume_came_with_contents_is_remembered() -> None:
    again = protection(Nomad()).check(Context(), checked(hasContents=True), INPUTS)
    assert again.inputs["hasContents"] is True


def test_a_volume_of_an_earlier_release_changes_nothing_but_its_memory() -> None:
    nomad = registered()
    inputs = checked(earlierSizeGib=1, earlierRestartId="before")
    assert protection(nomad).preview_update(Context(), "vol-1", EARLIER, inputs)["restartId"] == "before"
    assert protection(nomad).update(Impatient(), "vol-1", EARLIER, EARLIER, inputs)["restartId"] == "before"
    assert nomad.registered == []


def test_a_volume_that_is_adopted_under_a_consumer_is_not_grown() -> None:
    nomad = registered()
    _, state = protection(nomad).create(Impatient(), checked(earlierSizeGib=1, hasContents=True))
    assert (nomad.registered, state["restartId"]) == ([], "")
    protection(nomad).create(Impatient(), checked())
    assert len(nomad.registered) == 1
    # What it grows by later is followed.
    grown = checked(sizeGib=2, hasContents=True)
    protection(nomad).update(Impatient(), "vol-1", state, state, grown)
    assert nomad.registered[-1]["RequestedCapacityMin"] == 2 << 30


def test_the_volume_whose_place_another_one_takes_is_not_grown() -> None:
    nomad = registered(ExternalID="vol-0")
    _, state = protection(nomad).create(Impatient(), checked(hasContents=True))
    assert (nomad.registered, state["restartId"]) == ([], "")
    own = registered(ExternalID="vol-1")
    protection(own).create(Impatient(), checked(hasContents=True))
    assert len(own.registered) == 1


def test_what_an_earlier_release_knew_counts_once_and_is_no_difference_later() -> None:
    first, later = checked(earlierSizeGib=1, earlierRestartId="before"), checked()
    assert not protection(Nomad()).diff(Context(), "vol-1", first, first, later).detailed
    state = first | {"restartId": "before"}
    assert protection(Nomad()).update(Impatient(), "vol-1", state, first, later)["restartId"] == "before"


def test_one_that_keeps_no_file_system_has_no_difference_to_an_earlier_releases() -> None:
    made_by_driver = protection(Nomad()).check(Context(), {}, EARLIER | {"namespace": "default"}).inputs
    earlier = {key: made_by_driver[key] for key in ("volumeName", "volumeId", "finalSnapshot", "namespace", "timeoutS")}
    assert not protection(Nomad()).diff(Context(), "vol-1", earlier, earlier, made_by_driver).detailed


@pytest.mark.parametrize("before", [{"sizeGib": 1}, {"earlierSizeGib": 1}], ids=["its own", "an earlier release's"])
def test_a_mounted_file_system_grows_with_the_flags_that_it_is_registered_with(before: dict[str, Any]) -> None:
    nomad = registered()
    inputs = checked(sizeGib=2, mountFlags=["nodiratime"], earlierSizeGib=before.get("earlierSizeGib"))
    state = EARLIER | ({**before, "mountFlags": ["noatime"]} if "sizeGib" in before else {})
    protection(nomad).update(Impatient(), "vol-1", state, state, inputs)
    [asked] = nomad.registered
    flags = ["noatime"] if "sizeGib" in before else ["nodiratime"]
    assert (asked["RequestedCapacityMin"], asked["MountOptions"]["MountFlags"]) == (2 << 30, flags)


def test_where_the_driver_cannot_expand_the_consumer_restarts_and_the_preview_says_so() -> None:
    nomad = Nomad(can_expand=False)
    state = checked() | {"restartId": "before"}
    inputs = checked(sizeGib=2)
    assert protection(nomad).preview_update(Context(), "vol-1", state, inputs)["restartId"] is UNKNOWN
    assert protection(nomad).update(Impatient(), "vol-1", state, state, inputs)["restartId"] != "before"


def test_a_size_that_is_not_known_yet_may_take_a_restart() -> None:
    planned = checked() | {"sizeGib": UNKNOWN}
    state = checked() | {"restartId": "before"}
    assert (
        protection(Nomad(can_expand=False)).preview_update(Context(), "vol-1", state, planned)["restartId"] is UNKNOWN
    )
    assert protection(Nomad()).preview_update(Context(), "vol-1", state, planned)["restartId"] == "before"
