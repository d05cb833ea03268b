"""Whether the cluster that NOMAD_ADDR names is the stack's: it has the stack's volumes, by the provider's ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from operate import stack
from operate.cluster import connect


class AnotherCluster(Exception):  # noqa: N818
    """Under the ids of the stack's volumes and jobs there is something else here."""


def stack_cluster(volume: str) -> NomadApi:
    """The cluster, once it is certain that it has this volume of the stack. Raises AnotherCluster and StackError."""
    nomad = connect()
    known = stack.outputs()["volumes"][volume]
    if namespaces(nomad, {volume: known}):
        return nomad
    nomad.close()
    raise AnotherCluster(
        f"the Nomad cluster at {nomad.address} has no volume {known['nomadId']}, which the stack's jobs are on: it is "
        "another cluster, or the volume is not registered. Check NOMAD_ADDR and --stack, or run `pulumi up`"
    )


def namespaces(nomad: NomadApi, volumes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The namespaces in which the stack's volumes are registered, by volume.

    Raises AnotherCluster where none is, but others under their ids: one may be another for as long as an `up` that
    was cut off has not been repeated.
    """
    listed: Sequence[dict[str, Any]] = nomad.get("volumes", type="csi", namespace="*") or []
    found: dict[str, str] = {}
    others: list[str] = []
    for name, volume in volumes.items():
        here = {one["ExternalID"]: str(one["Namespace"]) for one in listed if one["ID"] == volume["nomadId"]}
        if volume["id"] in here:
            found[name] = here[volume["id"]]
        elif here:
            others.append(f"volume {volume['nomadId']} is {volume['id']} in the stack, but {', '.join(here)}")
    if others and not found:
        raise AnotherCluster(
            f"{others[0]} in the Nomad cluster at {nomad.address}: that is another cluster, or another stack's volume. "
            "Check NOMAD_ADDR and --stack"
        )
    return found
