"""How a file system follows its volume's size."""

import itertools
from typing import Any

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import file_system_size, volume_claims
from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.volume_growth import VolumeGrowth
from nomad_stateful.schema.volumes import MODES
from nomad_stateful.waiting import Context, Progress
from tests.fake_nomad import FakeNomad

GIB = 1 << 30
INPUTS: dict[str, Any] = {
    "volumeId": "mysql",
    "namespace": "default",
    "registrationId": "mysql",
    "mountFlags": ["noatime"],
    "secrets": {"key": "value"},
    "sizeGib": 2,
    "mode": "online-or-restart",
    "timeoutS": 10,
}
STALE = 2
"""How often a client tells the size that it measured before."""
STATE = INPUTS | {"sizeGib": 1, "restartId": "before"}
BY_NODE = "unable to update volume: CSI.NodeExpandVolume error: rpc error: code = Internal desc = the kernel does\n not"
BY_CONTROLLER = "unable to update volume: CSI.ControllerExpandVolume error: rpc error: desc = Unauthorized\nOperation"


def have(
    nomad: FakeNomad, *, claimed: bool = True, refusal: str = "", status: int = 500, can_expand: bool = True
) -> FakeNomad:
    """One volume, and a client's disks."""
    stub = {"ID": "alloc-1", "NodeID": "node-1", "ClientStatus": "running"}
    volume = {
        "Name": "mysql",
        "ExternalID": "vol-1",
        "PluginID": "aws-ebs0",
        "MountOptions": {"FSType": "ext4", "MountFlags": ["noatime"]},
        "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}],
        "Capacity": 0,
        "RequestedCapacityMin": 0,
        "Allocations": [stub] if claimed else [],
        "WriteAllocs": {"alloc-1": None} if claimed else {},
    }
    measured = itertools.count(1)

    def stats() -> dict[str, Any]:
        # A client answers with its last measurement, which may be from before the growth.
        size = 2 * GIB if next(measured) > STALE and registered(nomad) else GIB
        return {"DiskStats": [{"Mountpoint": "/d/csi/node/p/per-alloc/alloc-1/mysql/rw", "Size": size}]}

    nomad.put("volume/csi/mysql", volume)
    nomad.put(
        "plugin/csi/aws-ebs0", {"Nodes": {"node-1": {"NodeInfo": {"SupportsExpand": can_expand}, "Healthy": True}}}
    )
    nomad.put("client/stats", stats)
    if refusal:
        nomad.refuse("volume/csi/mysql", status, refusal, method="PUT")
    return nomad


@pytest.fixture
def nomad(nomad: FakeNomad) -> FakeNomad:
    return have(nomad)


def registered(nomad: FakeNomad) -> list[dict[str, Any]]:
    """What Nomad was asked to register; nothing else is asked of it."""
    sent = [volume for body in nomad.sent("volume/csi/mysql") for volume in body["Volumes"]]
    assert len(sent) == len(nomad.writes)
    return sent


class Impatient(Context):
    """Waits for nothing."""

    def wait(self, seconds: float) -> None:
        pass


def grow(nomad: FakeNomad, **change: Any) -> tuple[str, str]:
    """The restart's id after a growth, and what was told lastingly."""
    told: list[str] = []
    ctx = Impatient(sink=lambda _severity, message, _urn, ephemeral: None if ephemeral else told.append(message))
    outputs = VolumeGrowth(lambda: nomad.api).update(ctx, "id", STATE, INPUTS, INPUTS | change)
    return outputs["restartId"], "\n".join(told)


def test_a_mounted_file_system_grows_through_nomad_and_nothing_restarts(nomad: FakeNomad) -> None:
    restart_id, told = grow(nomad)
    assert restart_id == "before"
    assert "its file system grew while it was mounted (1.00 GiB -> 2.00 GiB): nothing is restarted" in told
    [asked] = registered(nomad)
    assert asked["RequestedCapacityMin"] == 2 * GIB
    assert asked["MountOptions"] == {"FSType": "ext4", "MountFlags": ["noatime"]}
    assert asked["Secrets"] == {"key": "value"}


@pytest.mark.parametrize("mode", MODES)
def test_after_a_refusal_by_the_node_nothing_is_restarted_and_the_way_on_is_said(nomad: FakeNomad, mode: str) -> None:
    with pytest.raises(ProviderError) as caught:
        grow(have(nomad, refusal=BY_NODE), mode=mode)
    said = str(caught.value)
    assert "the client refused to grow its file system while it is mounted: the kernel does not\n" in said
    assert "Nothing was restarted" in said
    assert "must not be restarted, moved or drained" in said
    assert "CAP_SYS_RESOURCE" not in said


def test_a_missing_capability_is_named(nomad: FakeNomad) -> None:
    with pytest.raises(ProviderError, match=r"(?s)CAP_SYS_RESOURCE.*privileged.*resize2fs"):
        grow(have(nomad, refusal=BY_NODE + ": Permission denied to resize filesystem"))


@pytest.mark.parametrize("mode", ["online", "online-or-restart"])
def test_where_something_else_refuses_nothing_is_restarted_unless_that_is_asked_for(
    nomad: FakeNomad, mode: str
) -> None:
    with pytest.raises(ProviderError, match=r"Unauthorized Operation\nNothing was restarted.*growth: restart"):
        grow(have(nomad, refusal=BY_CONTROLLER), mode=mode)
    restart_id, told = grow(have(nomad, refusal=BY_CONTROLLER), mode="restart")
    assert restart_id not in ("", "before")
    assert "could not be asked to grow while it is mounted (Unauthorized Operation), so its consumer is rest" in told


def test_a_node_that_can_expand_is_asked_before_a_restart(nomad: FakeNomad) -> None:
    assert grow(nomad, mode="restart")[0] == "before"
    assert len(registered(nomad)) == 1


@pytest.mark.parametrize("mode", ["restart", "online-or-restart"])
def test_a_driver_that_cannot_expand_grows_by_a_restart_and_is_not_asked(nomad: FakeNomad, mode: str) -> None:
    have(nomad, can_expand=False)
    restart_id, told = grow(nomad, mode=mode)
    assert restart_id != "before"
    assert registered(nomad) == []
    assert "does not grow while it is mounted: the driver cannot do that, so its consumer is restarted" in told


@pytest.mark.parametrize("status", [403, 500])
def test_an_error_that_is_not_about_growing_is_an_error(nomad: FakeNomad, status: int) -> None:
    with pytest.raises(NomadApiError, match="Permission denied"):
        grow(have(nomad, refusal="Permission denied", status=status))


def test_a_volume_that_nobody_has_mounted_grows_with_its_next_mount(nomad: FakeNomad) -> None:
    have(nomad, claimed=False)
    restart_id, told = grow(nomad)
    assert (restart_id, registered(nomad)) == ("before", [])
    assert "grows when it is mounted next" in told
    nomad.put("volume/csi/mysql", None)
    assert grow(nomad)[0] == "before"


def test_a_growth_that_nomad_has_done_already_is_not_repeated(nomad: FakeNomad) -> None:
    nomad.change("volume/csi/mysql", RequestedCapacityMin=2 * GIB)
    assert grow(nomad)[0] == "before"
    assert registered(nomad) == []


def test_a_change_of_something_else_does_not_touch_the_volume(nomad: FakeNomad) -> None:
    assert grow(nomad, sizeGib=1, mode="restart")[0] == "before"
    assert registered(nomad) == []


def test_a_preview_says_whether_a_restart_may_come(nomad: FakeNomad) -> None:
    def preview(*, can_expand: bool = True, **change: Any) -> Any:
        have(nomad, can_expand=can_expand)
        growth = VolumeGrowth(lambda: nomad.api)
        return growth.preview_update(Context(), "id", STATE, INPUTS | change)["restartId"]

    assert preview() == "before"
    assert preview(can_expand=False) is UNKNOWN
    assert preview(mode="restart") is UNKNOWN
    assert preview(can_expand=False, mode="online") == "before"
    assert preview(sizeGib=1, mode="restart") == "before"


def test_a_size_that_no_client_has_measured_anew_is_not_told_as_a_growth(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_system_size, "_LOOK_EVERY_S", 0.01)
    claims, progress = volume_claims.claims(nomad.records["volume/csi/mysql"]), Progress(Context(), 0.05)
    after = file_system_size.after_growth(progress, nomad.api, claims, GIB)
    assert (after, file_system_size.change(GIB, after)) == (GIB, "")
    assert progress.left_s <= 0
    assert file_system_size.MEASURED_WITHIN_S == 5


def test_a_new_registration_of_an_unused_volume_asks_for_nothing(nomad: FakeNomad) -> None:
    have(nomad, claimed=False)
    made = VolumeGrowth(lambda: nomad.api).create(Context(), INPUTS)
    assert made == ("default/mysql", INPUTS | {"restartId": ""})
    assert registered(nomad) == []
