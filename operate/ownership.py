"""The check that NOMAD_ADDR is the stack's cluster: it has the stack's volumes, by their ids at the provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from operate import stack
from operate.cluster import Cluster, connect
from operate.errors import OperateError


class WrongClusterError(OperateError):
    """The cluster does not have the stack's volumes, or has others under their ids."""


def stack_cluster(volume: str) -> NomadApi:
    """Returns the cluster, if it has this volume of the stack. Raises WrongClusterError and StackError."""
    nomad = connect()
    known = stack.outputs()["volumes"][volume]
    if namespaces(nomad, {volume: known}):
        return nomad
    nomad.close()
    raise WrongClusterError(
        f"the Nomad cluster at {nomad.address} has no volume {known['nomadId']}, which the stack's jobs use: it is "
        "another cluster, or the volume is not registered. Check NOMAD_ADDR and --stack, or run `pulumi up`"
    )


def mysql_cluster(mysql: stack.MysqlOutputs) -> Cluster:
    """Returns the MySQL server's job on its cluster. Raises WrongClusterError and StackError."""
    return Cluster(stack_cluster(mysql.volume), mysql.job, mysql.namespace, group="mysql", port_label="db")


def namespaces(nomad: NomadApi, volumes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Returns the namespaces in which the stack's volumes are registered, by volume.

    Raises WrongClusterError if none is, but others are under their ids. A single one may differ after an `up` that was
    interrupted.
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
        raise WrongClusterError(
            f"{others[0]} in the Nomad cluster at {nomad.address}: that is another cluster, or another stack's volume. "
            "Check NOMAD_ADDR and --stack"
        )
    return found
