"""What a Terraform state file has of volumes, registrations and jobs.

Format 4: https://developer.hashicorp.com/terraform/internals/json-format has the documented form, of which a state file
is the stored one. Values that Terraform marks as sensitive are read like others, and never shown.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomad_stateful.operate.adopt.found import Found
from nomad_stateful.operate.adopt.settings import Gap
from nomad_stateful.operate.errors import OperateError

REGISTRATION, CREATED, EBS, JOB = (
    "nomad_csi_volume_registration",
    "nomad_csi_volume",
    "aws_ebs_volume",
    "nomad_job",
)
_VERSION = 4


@dataclass(frozen=True)
class Managed:
    """One resource of the state."""

    type: str
    address: str
    attributes: Mapping[str, Any]

    @property
    def volume(self) -> tuple[str, str]:
        """Namespace and id of a volume in Nomad."""
        return str(self.attributes.get("namespace") or "default"), str(self.attributes.get("volume_id") or "")


def read(path: Path) -> list[Managed]:
    """Returns the resources of these types. Raises OperateError where it is no state file of this format."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OperateError(f"--terraform-state {path}: it cannot be read ({error}). Name a terraform.tfstate") from None
    version = state.get("version") if isinstance(state, dict) else None
    if version != _VERSION or not isinstance(state.get("resources"), list):
        raise OperateError(
            f"--terraform-state {path}: its format is {version or 'unknown'}, and {_VERSION} is read, which Terraform "
            "writes since 0.12. Use `terraform state pull > FILE`, not `terraform show -json`"
        )
    return list(_managed(state["resources"]))


def _managed(resources: list[Any]) -> Iterator[Managed]:
    for one in resources:
        if one.get("mode") != "managed" or one.get("type") not in (REGISTRATION, CREATED, EBS, JOB):
            continue
        base = ".".join(part for part in (one.get("module"), one["type"], one["name"]) if part)
        for instance in one.get("instances") or []:
            index = instance.get("index_key")
            suffix = "" if index is None else f"[{json.dumps(index)}]"
            yield Managed(one["type"], base + suffix, instance.get("attributes") or {})


def mount_flags(managed: list[Managed]) -> dict[str, list[str]]:
    """Returns the mount flags of registrations, by volume id: Nomad does not show them."""
    found = {}
    for one in managed:
        options = one.attributes.get("mount_options") or []
        if one.type == REGISTRATION and options:
            found[one.volume[1]] = [str(flag) for flag in options[0].get("mount_flags") or []]
    return found


def gaps(managed: list[Managed], found: Found) -> Iterator[Gap]:
    """Yields what the state has and the cluster has not, and EBS volumes that Nomad does not know."""
    registered = {(one.namespace, one.volume_id) for one in found.volumes}
    storage = {one.registration.external_id for one in found.volumes}
    for one in managed:
        if one.type in (REGISTRATION, CREATED) and one.volume not in registered:
            why = f"Nomad has no such volume in namespace {one.volume[0]}"
            yield Gap(
                one.address, "volume_id", one.volume[1], why, "check NOMAD_ADDR, or refresh Terraform's state", False
            )
        ebs = str(one.attributes.get("id") or "")
        if one.type == EBS and ebs not in storage:
            remedy = "give it an entry in volumes with provision: existing and this externalId; it is registered then"
            yield Gap(one.address, "id", ebs, "no volume in Nomad is this one", remedy, False)


def handover(managed: list[Managed], adopted: list[str], namespace: str, ebs: Collection[str]) -> list[str]:
    """Returns the commands by which Terraform forgets what becomes the stack's: registrations, and `ebs` by id."""
    return [
        f"terraform state rm '{one.address}'"
        for one in managed
        if (one.type == REGISTRATION and one.volume[0] == namespace and one.volume[1] in adopted)
        or (one.type == EBS and one.attributes.get("id") in ebs)
    ]


def kept(managed: list[Managed], ebs: Collection[str]) -> list[str]:
    """Returns what goes on being Terraform's: jobs, and EBS volumes but for those that become the stack's."""
    return [
        one.address
        for one in managed
        if one.type in (EBS, JOB) and not (one.type == EBS and one.attributes.get("id") in ebs)
    ]
