"""Sizes of the file systems that allocations have mounted, as their Nomad clients measure them."""

from collections.abc import Sequence

from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.waiting import Pending, Progress

_GIB = 1 << 30
# Where a client mounts a CSI volume for an allocation.
_MOUNTED_FOR = "/per-alloc/{}/"
# A client measures once a second, unless its telemetry.collection_interval says otherwise.
_LOOK_EVERY_S = 0.5
MEASURED_WITHIN_S = 5.0


def of(api: NomadApi, claims: Sequence[Claim]) -> int:
    """Returns the bytes of the volume's file system, by the first claim whose client knows; 0 where none does."""
    return use(api, claims)[0]


def use(api: NomadApi, claims: Sequence[Claim]) -> tuple[int, int]:
    """Returns the bytes of the volume's file system and those in use; zeros where no claim's client knows."""
    for claim in claims:
        if not claim.node_id:
            continue
        try:
            disks = api.get("client/stats", node_id=claim.node_id).get("DiskStats") or []
        except NomadError:
            continue
        for disk in disks:
            if _MOUNTED_FOR.format(claim.alloc_id) in disk.get("Mountpoint", ""):
                return int(disk["Size"]), int(disk.get("Used") or 0)
    return 0, 0


def after_growth(progress: Progress, api: NomadApi, claims: Sequence[Claim], before: int) -> int:
    """Returns the bytes once a client has measured a growth; `before` where none was measured."""

    def look() -> int | Pending:
        size = of(api, claims)
        return size if not before or size != before else Pending("waiting until a client measures the file system")

    size = progress.wait(look, _LOOK_EVERY_S)
    return before if isinstance(size, Pending) else size


def change(before: int, after: int) -> str:
    """Returns both sizes for a message; "" where they were not measured, or are the same."""
    grew = before and after and before != after
    return f" ({before / _GIB:.2f} GiB -> {after / _GIB:.2f} GiB)" if grew else ""
