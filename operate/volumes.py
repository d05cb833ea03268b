"""The stack's volumes with what uses them, in Nomad and in EC2."""

from dataclasses import dataclass
from typing import Any

from nomad_stateful.ebs.attachment import EbsVolumes
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.recovery.volume_usage import VolumeUsage, inspect_volume
from operate import ownership, stack


class NoSuchVolume(Exception):  # noqa: N818
    """The stack has no volume of that name."""


@dataclass(frozen=True)
class StackVolume:
    """One volume of the stack."""

    name: str
    registered: bool
    usage: VolumeUsage


def stack_volumes(nomad: NomadApi, only: str = "") -> list[StackVolume]:
    """Returns every volume of the stack, or the one of that name.

    Raises NoSuchVolume, AnotherCluster, StackError and ProviderError.
    """
    known: dict[str, dict[str, Any]] = stack.outputs().get("volumes") or {}
    if only and only not in known:
        raise NoSuchVolume(f"the stack has no volume {only}: it has {', '.join(sorted(known)) or 'none'}")
    namespaces = ownership.namespaces(nomad, known)
    ebs = EbsVolumes(stack.aws_place()) if any(_is_ebs(volume) for volume in known.values()) else None
    found = []
    for name in sorted([only] if only else known):
        volume = known[name]
        volume_id = str(volume["nomadId"])
        usage = inspect_volume(
            nomad, namespaces.get(name, "default"), volume_id, str(volume["id"]), ebs if _is_ebs(volume) else None
        )
        found.append(StackVolume(name, name in namespaces, usage))
    return found


def _is_ebs(volume: dict[str, Any]) -> bool:
    return str(volume["id"]).startswith("vol-")
