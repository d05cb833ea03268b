"""What the protection of a registered volume refuses, and how its file system follows the volume."""

from types import SimpleNamespace
from typing import Any

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources import volume_protection
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad
from tests.unit.provider.test_volume_growth import Impatient, have, registered

# As an earlier release left it: what keeps the file system was elsewhere in the state.
EARLIER: dict[str, Any] = {"volumeName": "mysql", "volumeId": "vol-1", "finalSnapshot": True}
INPUTS: dict[str, Any] = {
    **EARLIER,
    "registeredIn": "default",
    "fsType": "ext4",
    "sizeGib": 1,
    "mountFlags": ["noatime"],
}


@pytest.fixture
def nomad(nomad: FakeNomad) -> FakeNomad:
    return have(nomad)


def protection(api: NomadApi | None = None, *changes: str) -> VolumeProtection:
    """A protection, and how EC2 is with the volume's change each time that it is asked: completed at last."""
    left = list(changes)
    ec2: Any = SimpleNamespace(modification=lambda _: left.pop(0) if left else "completed")
    return VolumeProtection(lambda _: ec2, lambda: api or pytest.fail("Nomad is asked"))


def checked(**inputs: Any) -> dict[str, Any]:
    found = protection().check(Context(), {}, INPUTS | inputs)
    assert found.failures == []
    return found.inputs


def refusals(olds: dict[str, Any], news: dict[str, Any], api: NomadApi) -> str:
    return "\n".join(failure.reason for failure in protection(api).check(Context(), olds, news).failures)


CHANGES = [
    ({"fsType": "xfs"}, "volumes.mysql.fsType is xfs: the volume is formatted with ext4"),
    ({"attachmentMode": "block-device"}, "volumes.mysql.attachmentMode is block-device: there is a file system"),
]


@pytest.mark.parametrize("olds", [checked(), EARLIER], ids=["its own", "an earlier release's"])
@pytest.mark.parametrize(("change", "said"), CHANGES)
def test_what_the_contents_would_not_survive_is_refused(
    nomad: FakeNomad, olds: dict[str, Any], change: Any, said: str
) -> None:
    assert refusals(olds, INPUTS | change, nomad.api).startswith(said)
    assert refusals(olds, INPUTS, nomad.api) == ""


def test_what_is_not_registered_yet_was_refused_by_nobody(nomad: FakeNomad) -> None:
    nomad.put("volume/csi/mysql", None)
    assert refusals(EARLIER, INPUTS | {"fsType": "xfs"}, nomad.api) == ""


def test_without_nomads_answer_contents_count_as_used() -> None:
    olds = checked(hasContents=True)
    assert "Keep fsType: ext4" in refusals(olds, INPUTS | {"fsType": "xfs"}, NomadApi("http://127.0.0.1:9"))


def test_that_a_volume_came_with_contents_is_remembered() -> None:
    again = protection().check(Context(), checked(hasContents=True), INPUTS)
    assert again.inputs["hasContents"] is True


def test_a_volume_of_an_earlier_release_changes_nothing_but_its_memory(nomad: FakeNomad) -> None:
    inputs = checked(earlierSizeGib=1, earlierRestartId="before")
    assert protection(nomad.api).preview_update(Context(), "vol-1", EARLIER, inputs)["restartId"] == "before"
    assert protection(nomad.api).update(Impatient(), "vol-1", EARLIER, EARLIER, inputs)["restartId"] == "before"
    assert registered(nomad) == []


def test_a_volume_that_is_adopted_under_a_consumer_is_not_grown(nomad: FakeNomad) -> None:
    _, state = protection(nomad.api).create(Impatient(), checked(earlierSizeGib=1, hasContents=True))
    assert (registered(nomad), state["restartId"]) == ([], "")
    protection(nomad.api).create(Impatient(), checked())
    assert len(registered(nomad)) == 1
    # What it grows by later is followed.
    grown = checked(sizeGib=2, hasContents=True)
    protection(nomad.api).update(Impatient(), "vol-1", state, state, grown)
    assert registered(nomad)[-1]["RequestedCapacityMin"] == 2 << 30


def test_the_volume_whose_place_another_one_takes_is_not_grown(nomad: FakeNomad) -> None:
    nomad.change("volume/csi/mysql", ExternalID="vol-0")
    _, state = protection(nomad.api).create(Impatient(), checked(hasContents=True))
    assert (registered(nomad), state["restartId"]) == ([], "")
    nomad.change("volume/csi/mysql", ExternalID="vol-1")
    protection(nomad.api).create(Impatient(), checked(hasContents=True))
    assert len(registered(nomad)) == 1


def test_what_an_earlier_release_knew_counts_once_and_is_no_difference_later() -> None:
    first, later = checked(earlierSizeGib=1, earlierRestartId="before"), checked()
    assert not protection().diff(Context(), "vol-1", first, first, later).detailed
    state = first | {"restartId": "before"}
    assert protection().update(Impatient(), "vol-1", state, first, later)["restartId"] == "before"


def test_one_that_keeps_no_file_system_has_no_difference_to_an_earlier_releases() -> None:
    made_by_driver = protection().check(Context(), {}, EARLIER | {"namespace": "default"}).inputs
    earlier = {key: made_by_driver[key] for key in ("volumeName", "volumeId", "finalSnapshot", "namespace", "timeoutS")}
    assert not protection().diff(Context(), "vol-1", earlier, earlier, made_by_driver).detailed


@pytest.mark.parametrize("before", [{"sizeGib": 1}, {"earlierSizeGib": 1}], ids=["its own", "an earlier release's"])
def test_a_mounted_file_system_grows_with_the_flags_that_it_is_registered_with(
    nomad: FakeNomad, before: dict[str, Any]
) -> None:
    inputs = checked(sizeGib=2, mountFlags=["nodiratime"], earlierSizeGib=before.get("earlierSizeGib"))
    state = EARLIER | ({**before, "mountFlags": ["noatime"]} if "sizeGib" in before else {})
    protection(nomad.api).update(Impatient(), "vol-1", state, state, inputs)
    [asked] = registered(nomad)
    flags = ["noatime"] if "sizeGib" in before else ["nodiratime"]
    assert (asked["RequestedCapacityMin"], asked["MountOptions"]["MountFlags"]) == (2 << 30, flags)


def test_a_file_system_grows_once_ec2_has_changed_the_volume(nomad: FakeNomad) -> None:
    seen: list[int] = []

    def modification(_: str) -> str:
        seen.append(len(registered(nomad)))
        return "modifying" if len(seen) < 3 else "optimizing"

    volumes: Any = SimpleNamespace(modification=modification)
    VolumeProtection(lambda _: volumes, lambda: nomad.api).update(
        Impatient(), "vol-1", checked(), checked(), checked(sizeGib=2)
    )
    assert (seen, len(registered(nomad))) == ([0, 0, 0], 1)


@pytest.mark.parametrize(
    ("change", "said"), [("failed", "EC2 could not change the size of vol-1 to 2 GiB"), ("modifying", "not after 0 s")]
)
def test_a_volume_that_does_not_get_its_size_fails_the_update(
    nomad: FakeNomad, change: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume_protection, "_MODIFIED_WITHIN_S", 0)
    with pytest.raises(ProviderError, match=said):
        protection(nomad.api, change).update(Impatient(), "vol-1", checked(), checked(), checked(sizeGib=2))
    assert registered(nomad) == []


def test_where_the_driver_cannot_expand_the_consumer_restarts_and_the_preview_says_so(nomad: FakeNomad) -> None:
    have(nomad, can_expand=False)
    state = checked() | {"restartId": "before"}
    inputs = checked(sizeGib=2)
    assert protection(nomad.api).preview_update(Context(), "vol-1", state, inputs)["restartId"] is UNKNOWN
    assert protection(nomad.api).update(Impatient(), "vol-1", state, state, inputs)["restartId"] != "before"


def test_a_size_that_is_not_known_yet_may_take_a_restart(nomad: FakeNomad) -> None:
    planned = checked() | {"sizeGib": UNKNOWN}
    state = checked() | {"restartId": "before"}
    assert protection(nomad.api).preview_update(Context(), "vol-1", state, planned)["restartId"] == "before"
    have(nomad, can_expand=False)
    assert protection(nomad.api).preview_update(Context(), "vol-1", state, planned)["restartId"] is UNKNOWN
