"""How a file system follows its volume's size."""

from typing import Any

import pytest

from provider.nomad_api import NomadApiError, NomadNotFound
from provider.resources.volume_growth import VolumeGrowth
from provider.rpc.plugin import Context, ProviderError
from provider.rpc.values import UNKNOWN

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
STATE = INPUTS | {"sizeGib": 1, "restartId": "before"}
REFUSED = "unable to update volume: CSI.NodeExpandVolume error: rpc error: code = X desc = the kernel does\n not let it"


class Nomad:
    """One volume, and a client's disks."""

    def __init__(self, *, claimed: bool = True, refusal: str = "", status: int = 500) -> None:
        self.refusal = refusal
        self.status = status
        self.registered: list[dict[str, Any]] = []
        stub = {"ID": "alloc-1", "NodeID": "node-1", "ClientStatus": "running"}
        self.volume: dict[str, Any] | None = {
            "ID": "mysql",
            "Name": "mysql",
            "ExternalID": "vol-1",
            "MountOptions": {"FSType": "ext4", "MountFlags": ["[REDACTED]"]},
            "Capacity": 0,
            "RequestedCapacityMin": 0,
            "Allocations": [stub] if claimed else [],
            "WriteAllocs": {"alloc-1": None} if claimed else {},
        }

    def get(self, path: str, **_params: Any) -> Any:
        if path == "client/stats":
            size = 2 * GIB if self.registered and not self.refusal else GIB
            return {"DiskStats": [{"Mountpoint": "/d/csi/node/p/per-alloc/alloc-1/mysql/rw", "Size": size}]}
        if self.volume is None:
            raise NomadNotFound(404, "no such volume")
        return self.volume

    def put(self, _path: str, body: dict[str, Any], **_params: Any) -> None:
        self.registered += body["Volumes"]
        if self.refusal:
            raise NomadApiError(self.status, self.refusal)


def grow(nomad: Nomad, **change: Any) -> tuple[str, str]:
    """The restart's id after a growth, and what was told lastingly."""
    told: list[str] = []
    ctx = Context(sink=lambda _severity, message, _urn, ephemeral: None if ephemeral else told.append(message))
    outputs = VolumeGrowth(lambda: nomad).update(ctx, "id", STATE, INPUTS, INPUTS | change)  # type: ignore[arg-type, return-value]
    return outputs["restartId"], "\n".join(told)


def test_a_mounted_file_system_grows_through_nomad_and_nothing_restarts() -> None:
    nomad = Nomad()
    restart_id, told = grow(nomad)
    assert restart_id == "before"
    assert "its file system grew while it was mounted (1.00 GiB -> 2.00 GiB): nothing is restarted" in told
    [asked] = nomad.registered
    assert asked["RequestedCapacityMin"] == 2 * GIB
    assert asked["MountOptions"] == {"FSType": "ext4", "MountFlags": ["noatime"]}
    assert asked["Secrets"] == {"key": "value"}


def test_where_that_is_refused_the_consumer_restarts_and_the_reason_is_told_on_one_line() -> None:
    restart_id, told = grow(Nomad(refusal=REFUSED))
    assert restart_id not in ("", "before")
    assert "does not grow while it is mounted (the kernel does not let it), so its consumer is restarted" in told


def test_online_alone_fails_instead_and_names_the_setting() -> None:
    with pytest.raises(ProviderError, match="Set growth: online-or-restart"):
        grow(Nomad(refusal=REFUSED), mode="online")


def test_restart_alone_does_not_ask_nomad_to_grow() -> None:
    nomad = Nomad()
    restart_id, told = grow(nomad, mode="restart")
    assert restart_id != "before"
    assert nomad.registered == []
    assert "its consumer is restarted" in told


@pytest.mark.parametrize("status", [403, 500])
def test_an_error_that_is_not_about_growing_is_an_error(status: int) -> None:
    with pytest.raises(NomadApiError, match="Permission denied"):
        grow(Nomad(refusal="Permission denied", status=status))


def test_a_volume_that_nobody_has_mounted_grows_with_its_next_mount() -> None:
    nomad = Nomad(claimed=False)
    restart_id, told = grow(nomad)
    assert (restart_id, nomad.registered) == ("before", [])
    assert "grows when it is mounted next" in told
    nomad.volume = None
    assert grow(nomad)[0] == "before"


def test_a_growth_that_nomad_has_done_already_is_not_repeated() -> None:
    nomad = Nomad()
    assert nomad.volume is not None
    nomad.volume["RequestedCapacityMin"] = 2 * GIB
    assert grow(nomad)[0] == "before"
    assert nomad.registered == []


def test_a_change_of_something_else_does_not_touch_the_volume() -> None:
    nomad = Nomad()
    assert grow(nomad, sizeGib=1, mode="restart")[0] == "before"
    assert nomad.registered == []


def test_a_preview_says_whether_a_restart_may_come() -> None:
    growth = VolumeGrowth(Nomad)  # type: ignore[arg-type]
    assert growth.preview_update(Context(), "id", STATE, INPUTS)["restartId"] is UNKNOWN
    assert growth.preview_update(Context(), "id", STATE, INPUTS | {"mode": "online"})["restartId"] == "before"
    assert growth.preview_update(Context(), "id", STATE, INPUTS | {"sizeGib": 1})["restartId"] == "before"


def test_a_new_registration_of_an_unused_volume_asks_for_nothing() -> None:
    nomad = Nomad(claimed=False)
    made = VolumeGrowth(lambda: nomad).create(Context(), INPUTS)  # type: ignore[arg-type, return-value]
    assert made == ("default/mysql", INPUTS | {"restartId": ""})
    assert nomad.registered == []
