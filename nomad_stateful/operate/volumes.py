"""The stack's volumes with what uses them, in Nomad and in EC2."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import ownership, stack
from nomad_stateful.recovery.volume_usage import VolumeUsage, inspect_volume


@dataclass(frozen=True)
class StackVolume:
    """One volume of the stack."""

    name: str
    registered: bool
    usage: VolumeUsage


def stack_volumes(nomad: NomadApi, only: str = "") -> Iterator[StackVolume]:
    """Yields every volume of the stack, or the one of that name, each as it is when its turn comes.

    Raises OperateError and ProviderError.
    """
    known: dict[str, dict[str, Any]] = stack.outputs().get("volumes") or {}
    if only and only not in known:
        raise stack.StackError(f"the stack has no volume {only}: it has {', '.join(sorted(known)) or 'none'}")
    namespaces = ownership.namespaces(nomad, known)
    ebs = EbsVolumes(stack.aws_place()) if any(is_ebs_volume(volume["id"]) for volume in known.values()) else None
    for name in sorted([only] if only else known):
        volume = known[name]
        volume_id, external_id = str(volume["nomadId"]), str(volume["id"])
        of_ec2 = ebs if is_ebs_volume(external_id) else None
        usage = inspect_volume(nomad, namespaces.get(name, "default"), volume_id, external_id, of_ec2)
        yield StackVolume(name, name in namespaces, usage)
