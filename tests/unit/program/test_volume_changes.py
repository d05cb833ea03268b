"""What becomes of a stack's volumes under other settings: the state of a stack, and the settings that it meets."""

import json
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.preflight import stack_state
from nomad_stateful.program.preflight import volumes as preflight_volumes
from tests.unit.program.recorder import planned
from tests.upgrade.upgrading import FOLDER

BASE: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "ebs0"}, {"id": "ebs1"}, {"id": "efs0", "driver": "efs"}],
}
MADE = "nomad-stateful:index:ZonalVolumes$aws:ebs/volume:Volume"
FIRST, SECOND = "vol-00000000000000001", "vol-00000000000000002"
DISK = {"name": "disk", "zone": "us-west-2a", "sizeGib": 10}
DYNAMIC = {"name": "dynamic", "provision": "plugin", "zone": "us-west-2a", "sizeGib": 2}
SHARED = {
    "name": "shared",
    "provision": "existing",
    "plugin": "efs0",
    "externalId": "fs-1",
    "accessMode": "multi-node-multi-writer",
    "fsType": "",
}
TOPOLOGY = {"required": {"topologies": [{"segments": {"zone": "us-west-2a"}}]}}


def resources(*outputs: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {f"urn:{index}": {"type": token, "outputs": one} for index, (token, one) in enumerate(outputs)}


def ebs(
    name: str = "disk", volume_id: str = FIRST, *, protect: bool = False, final: bool = False, retain: bool = False
) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("nomad-stateful:index:ZonalVolumes", {"retained": {name: retain}}),
        ("nomad-csi:index:VolumeGuard", {"volumeName": name, "guardId": f"g-{volume_id}", "protect": protect}),
        (
            "aws:ebs/volume:Volume",
            {
                "arn": f"arn:aws:ec2:us-west-2:123456789012:volume/{volume_id}",
                "availabilityZone": "us-west-2a",
                "size": 10.0,
                "tags": {"Name": name, "nomad-stateful-guard": f"g-{volume_id}"},
            },
        ),
        ("nomad-csi:index:VolumeProtection", {"volumeId": volume_id, "volumeName": name, "finalSnapshot": final}),
        registration(name, volume_id, "ebs0", "ebs.csi.aws.com"),
    ]


def registration(name: str, external_id: str, plugin: str, provider: str) -> tuple[str, dict[str, Any]]:
    known = {"externalId": external_id, "pluginId": plugin, "pluginProvider": provider, "namespace": "default"}
    return "nomad:index/csiVolumeRegistration:CsiVolumeRegistration", {"volumeId": name, **known}


def made_by_driver(protect: bool | None = False) -> list[tuple[str, dict[str, Any]]]:
    known = {"externalId": "vol-d", "pluginId": "ebs0", "namespace": "default", "capacityMin": "2GiB"}
    made: dict[str, Any] = {"volumeId": "dynamic", "topologyRequest": TOPOLOGY, **known}
    component = {"volume_id": "dynamic"} if protect is None else {"volume_id": "dynamic", "protect": protect}
    return [("nomad:index/csiVolume:CsiVolume", made), ("nomad-stateful:index:CsiVolume", component)]


def judged(
    state: list[tuple[str, dict[str, Any]]], *volumes: dict[str, Any], **more: Any
) -> preflight_volumes.Findings:
    wanted = planned({**BASE, "volumes": list(volumes), **more})
    return preflight_volumes.judge(wanted, stack_state.stored(resources(*state)))


def said(found: preflight_volumes.Findings) -> tuple[list[str], list[str], list[str]]:
    return (
        [str(one) for one in found.problems],
        [str(one) for one in found.warnings],
        [str(one) for one in found.notes],
    )


EBS_1 = f"EBS volume {FIRST} (10 GiB, us-west-2a)"
OTHER = {**DISK, "name": "other"}


def test_volumes_that_stay_are_not_spoken_of() -> None:
    state = [*ebs(), *made_by_driver(), registration("shared", "fs-1", "efs0", "efs.csi.aws.com")]
    found = judged(state, DISK, DYNAMIC, SHARED)
    assert (said(found), found.new) == (([], [], []), [])


def test_an_empty_stack_has_nothing_to_lose() -> None:
    found = judged([], DISK, DYNAMIC, {**SHARED, "renamedFrom": "files"})
    assert said(found) == ([], [], [])
    assert [one.id for one in found.new] == ["disk", "dynamic", "shared"]


def test_a_renamed_volume_keeps_its_data_and_says_when_it_is_registered_again() -> None:
    problems, warnings, (note,) = said(judged(ebs(protect=True), {**OTHER, "renamedFrom": "disk"}))
    assert (problems, warnings) == ([], [])
    assert note == (
        f"volumes.other.name is other: volume disk stays {EBS_1}, with what is on it: it is registered again once its "
        "consumers have released it, and they start again on it. Leave renamedFrom out after this `pulumi up`."
    )


def test_an_earlier_name_that_is_done_with_is_not_spoken_of() -> None:
    assert said(judged(ebs("other"), {**OTHER, "renamedFrom": "disk"})) == ([], [], [])


def test_a_rename_that_was_cut_off_goes_on() -> None:
    half_done = [*ebs("other")[:-1], registration("disk", FIRST, "ebs0", "ebs.csi.aws.com")]
    assert said(judged(half_done, {**OTHER, "renamedFrom": "disk"})) == ([], [], [])
    assert said(judged(half_done, OTHER)) == ([], [], [])


def test_a_rename_of_one_volume_onto_another_is_refused() -> None:
    problems, _, _ = said(judged([*ebs(), *ebs("other", SECOND)], {**OTHER, "renamedFrom": "disk"}))
    assert problems[0].startswith(
        f"volumes.other.renamedFrom is disk: the stack has both: other is EBS volume {SECOND} "
        f"(10 GiB, us-west-2a), disk is {EBS_1}."
    )


def test_a_protected_volume_under_another_name_is_refused_with_the_setting_that_keeps_it() -> None:
    (problem,), warnings, notes = said(judged(ebs(protect=True), OTHER))
    assert (warnings, notes) == ([], [])
    assert problem == (
        f"volumes.disk is not set: {EBS_1} would be deleted, and protect: true keeps it. Put the entry back; if it has "
        "another name now, give the entry other renamedFrom: disk. To keep it in AWS without the stack set retain: "
        "true and protect: false, to delete it protect: false, run `pulumi up`, and then remove it."
    )


@pytest.mark.parametrize(
    ("final", "expected"),
    [
        (True, "is deleted after a final snapshot, from which a volume can be restored (snapshotId). "),
        (False, "is deleted with what is on it: no final snapshot is taken of it (finalSnapshot). "),
    ],
)
def test_an_unprotected_volume_that_is_removed_says_what_becomes_of_its_data(final: bool, expected: str) -> None:
    problems, (warning,), _ = said(judged(ebs(final=final), OTHER))
    assert problems == []
    assert warning == (
        f"volumes.disk is not set: {EBS_1} {expected}Put the entry back to keep it; if it has another name now, give "
        "the entry other renamedFrom: disk; retain: true, with a `pulumi up` before, leaves it in AWS."
    )


def test_a_retained_volume_leaves_the_stack_and_says_how_to_come_back() -> None:
    _, (warning,), _ = said(judged(ebs(retain=True), OTHER))
    assert f"{FIRST} (10 GiB, us-west-2a) leaves the stack and stays in AWS, with what is on it" in warning
    assert "Put the entry back with adopt: true" in warning


def test_a_retained_volume_that_is_protected_is_refused_all_the_same() -> None:
    (problem,), _, _ = said(judged(ebs(retain=True, protect=True), OTHER))
    assert problem.startswith("volumes.disk is not set")


def test_a_smaller_set_names_the_volumes_that_go() -> None:
    state = [one for index in range(3) for one in ebs(f"disk[{index}]", f"vol-{index:017}")]
    _, warnings, _ = said(judged(state, {**DISK, "count": 1}))
    assert [warning.split(" (")[0] for warning in warnings] == [
        f"volumes.disk.count is 1: EBS volume {FIRST}",
        f"volumes.disk.count is 1: EBS volume {SECOND}",
    ]


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("disk", {**DISK, "count": 1}, "disk[0]"),
        ("disk[0]", DISK, "disk"),
        ("disk[0]", {**OTHER, "renamedFrom": "disk"}, "other"),
        ("disk", {**OTHER, "count": 2, "renamedFrom": "disk"}, "other[0]"),
        ("disk[1]", {**OTHER, "count": 2, "renamedFrom": "disk"}, "other[1]"),
    ],
)
def test_a_single_volume_and_the_first_of_a_set_are_the_same(before: str, after: dict[str, Any], kept: str) -> None:
    problems, warnings, (note,) = said(judged(ebs(before, protect=True), after))
    assert (problems, warnings) == ([], [])
    assert f".name is {kept}: volume {before} stays EBS volume {FIRST}" in note


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": "other", "renamedFrom": "dynamic"}, "volumes.other.name is other"),
        ({"plugin": "ebs1"}, "volumes.dynamic.plugin is ebs1"),
        ({"zone": "us-west-2b"}, "volumes.dynamic.zone is us-west-2b"),
    ],
)
def test_what_a_driver_made_cannot_be_made_anew_under_way(change: dict[str, Any], key: str) -> None:
    (problem,), _, _ = said(judged(made_by_driver(), {**DYNAMIC, **change}))
    assert problem.startswith(
        f"{key}: EBS volume vol-d (2GiB, us-west-2a) was made by its driver, which would delete it with what is on it "
        "and make an empty one. Keep "
    )


def test_another_namespace_would_have_what_a_driver_made_deleted() -> None:
    (problem,), _, _ = said(judged(made_by_driver(), DYNAMIC, placement={"namespace": "elsewhere"}))
    assert problem.startswith("placement.namespace is elsewhere: EBS volume vol-d")


@pytest.mark.parametrize(
    ("protect", "expected"),
    [
        (False, "its driver deletes EBS volume vol-d (2GiB, us-west-2a) with what is on it; no snapshot is taken."),
        (None, "with what is on it, unless it is protected; no snapshot is taken."),
        (True, "EBS volume vol-d (2GiB, us-west-2a) would be deleted, and protect: true keeps it."),
    ],
)
def test_a_removed_volume_of_a_driver_goes_without_a_snapshot(protect: bool | None, expected: str) -> None:
    problems, warnings, _ = said(judged(made_by_driver(protect), DISK))
    assert expected in (problems + warnings)[0]
    assert bool(problems) is bool(protect)


def test_another_plugin_of_the_same_driver_keeps_the_volume() -> None:
    problems, warnings, (note,) = said(judged(ebs(protect=True), {**DISK, "plugin": "ebs1"}))
    assert (problems, warnings) == ([], [])
    assert note.startswith(
        f"volumes.disk.plugin is ebs1: it moves from plugin ebs0 and stays EBS volume {FIRST} (10 GiB, us-west-2a), "
        "with what is on it"
    )


def test_another_drivers_plugin_leaves_the_data_behind() -> None:
    nothing_new = {"provision": "existing", "externalId": FIRST}
    state = [registration("disk", FIRST, "ebs0", "ebs.csi.aws.com")]
    volume = {**SHARED, **nothing_new, "name": "disk"}
    _, (warning,), _ = said(judged(state, volume))
    assert warning.startswith(
        f"volumes.disk.plugin is efs0: EBS volume {FIRST} is storage of the driver ebs.csi.aws.com: what is on it "
        "stays there, and is not moved. Set it back to ebs0"
    )


def test_another_external_id_leaves_the_data_behind() -> None:
    _, (warning,), _ = said(
        judged([registration("shared", "fs-1", "efs0", "efs.csi.aws.com")], {**SHARED, "externalId": "fs-2"})
    )
    assert warning.startswith("volumes.shared.externalId is fs-2: the volume was fs-1: what is on that stays there")


def test_a_registration_that_goes_leaves_its_storage() -> None:
    state = [*ebs(), registration("shared", "fs-1", "efs0", "efs.csi.aws.com")]
    problems, warnings, (note,) = said(judged(state, DISK))
    assert (problems, warnings) == ([], [])
    assert note == (
        "volumes.shared is not set: Nomad forgets volume shared; fs-1 stays at its storage provider, with what is on "
        "it. Put the entry back to use it again."
    )


EXISTING = {"name": "disk", "provision": "existing", "externalId": FIRST, "zone": "us-west-2a"}


def test_a_volume_of_pulumis_is_not_called_existing_while_pulumi_would_delete_it() -> None:
    (problem,), _, _ = said(judged(ebs(), EXISTING))
    assert problem == (
        f"volumes.disk.provision is existing: EBS volume {FIRST} (10 GiB, us-west-2a) is made by Pulumi, which would "
        "delete it. Set provision back to pulumi, with retain: true and protect: false, run `pulumi up`, and then "
        "change it."
    )


def test_a_retained_volume_may_be_called_existing() -> None:
    problems, warnings, (note,) = said(judged(ebs(retain=True), EXISTING))
    assert (problems, warnings) == ([], [])
    assert "leaves the stack with what is on it" in note


@pytest.mark.parametrize(
    ("state", "volume", "expected"),
    [
        (ebs(), {**DYNAMIC, "name": "disk"}, "would be deleted with what is on it"),
        (ebs(), {**EXISTING, "externalId": SECOND}, "would be deleted with what is on it"),
        (made_by_driver(), {**DISK, "name": "dynamic"}, "would be deleted with what is on it"),
        (made_by_driver(), {**EXISTING, "name": "dynamic"}, "would be deleted with what is on it"),
        (
            [registration("disk", FIRST, "ebs0", "ebs.csi.aws.com")],
            DISK,
            "would be left for an empty volume. Set it back to existing; or give the new one a name of its own",
        ),
    ],
)
def test_a_volume_is_not_made_otherwise_under_its_name(
    state: list[tuple[str, dict[str, Any]]], volume: dict[str, Any], expected: str
) -> None:
    (problem,), _, _ = said(judged(state, volume))
    assert f"{volume['name']}.provision is {volume.get('provision', 'pulumi')}: " in problem
    assert expected in problem


def test_the_volumes_of_an_earlier_releases_state_are_known() -> None:
    state = json.loads((FOLDER / "0.1.0/state.json").read_text())["deployment"]["resources"]
    found = stack_state.stored(
        {one["urn"]: {"type": one["type"], "outputs": one.get("outputs") or {}} for one in state}
    )
    assert {key: (str(one), one.provision, one.plugin, one.protected) for key, one in found.items()} == {
        "mysql": ("EBS volume vol-a710e98b1bf2968b8 (1 GiB, us-west-2a)", "pulumi", "aws-ebs0", False),
        "archive": ("EBS volume vol-f5dfcce0831bd7eef (1 GiB, us-west-2b)", "pulumi", "aws-ebs0", False),
    }


def test_a_move_that_was_cut_off_goes_on_with_a_new_volume_and_leaves_the_old_one_alone() -> None:
    """The guard has its new zone, the state the old volume still: the new one is made, or adopted if it is there."""
    guard = {"volumeName": "disk", "guardId": "g2", "leftGuardId": f"g-{FIRST}", "protect": True}
    state = resources(
        *[one for one in ebs() if one[0] != "nomad-csi:index:VolumeGuard"], ("nomad-csi:index:VolumeGuard", guard)
    )
    wanted = planned({**BASE, "volumes": [{**DISK, "zone": "us-west-2b", "moveTo": "us-west-2b"}]})
    found = preflight_volumes.judge(wanted, stack_state.stored(state))
    assert (found.problems, found.warnings) == ([], [])
    assert [one.zone for one in found.new] == ["us-west-2b"]
    assert stack_state.left(state) == {FIRST}
    assert stack_state.cut_off(state) == {"disk": "g2"}


def test_a_volume_that_may_move_is_said_not_to_be_protected() -> None:
    found = preflight_volumes.judge(
        planned({**BASE, "volumes": [{**DISK, "moveTo": "us-west-2b"}]}),
        stack_state.stored(resources(*ebs())),
    )
    assert found.problems == []
    [note] = map(str, found.notes)
    assert "volumes.disk.moveTo is us-west-2b" in note
    assert "until it has moved, protect does not count" in note


@pytest.mark.parametrize("volume", [{**DYNAMIC, "moveTo": "us-west-2b"}, {**DISK, "count": 2, "moveTo": "us-west-2b"}])
def test_only_single_volumes_that_pulumi_makes_move(volume: dict[str, Any]) -> None:
    with pytest.raises(
        settings.SettingsError, match=r"moveTo is us-west-2b: is for single EBS volumes that Pulumi makes"
    ):
        settings.parse({**BASE, "volumes": [volume]})
