"""The check that a Nomad cluster is the stack's: it has the stack's volumes, by their ids at the provider."""

from collections.abc import Mapping, Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import group, stack
from nomad_stateful.operate.cluster import Cluster, connect
from nomad_stateful.operate.errors import OperateError

_REMEDY = "Check nomad:address and nomad:region of the stack, NOMAD_ADDR, NOMAD_REGION and --stack"


class WrongClusterError(OperateError):
    """The cluster does not have the stack's volumes, has others under their ids, or nothing tells whose it is."""


def stack_cluster(volume: str) -> NomadApi:
    """Returns the cluster, if it has this volume of the stack. Raises WrongClusterError and StackError."""
    nomad = connect()
    known = stack.outputs()["volumes"][volume]
    if namespaces(nomad, {volume: known}):
        return nomad
    nomad.close()
    raise WrongClusterError(
        f"the Nomad cluster at {nomad.address} has no volume {known['nomadId']}, which the stack's jobs use: it is "
        f"another cluster, or the volume is not registered. {_REMEDY}, or run `pulumi up`"
    )


def database_cluster(server: stack.DatabaseOutputs) -> Cluster:
    """Returns the database server's job on its cluster, of a group the primary's.

    Raises OperateError.
    """
    return database_job(stack_cluster(server.volume), server)


def database_job(nomad: NomadApi, server: stack.DatabaseOutputs) -> Cluster:
    """Returns the database server's job on a checked cluster, of a group the primary's. Raises OperateError."""
    job = group.primary(nomad, server)
    return Cluster(nomad, job, server.namespace, group=server.kind.name, port_label="db")


def namespaces(nomad: NomadApi, volumes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Returns the namespaces in which the stack's volumes are registered, by volume.

    Raises WrongClusterError if none is, though the state has one registered, or another one is under its id. A single
    one may differ after an `up` that was cut off; of a stack that is half destroyed there may be none.
    """
    listed = _listed(nomad)
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
            f"{_REMEDY}"
        )
    if volumes and not found:
        _refuse_without(nomad, listed, stack.registrations(stack.deployment()))
    return found


def required(nomad: NomadApi) -> dict[str, str]:
    """Returns the namespaces of the stack's volumes, for what acts. Raises WrongClusterError unless one is there."""
    found = namespaces(nomad, stack.outputs().get("volumes") or {})
    if not found:
        raise WrongClusterError(
            f"the stack has no volume in the Nomad cluster at {nomad.address}, by which it could be told whose cluster "
            "that is: nothing was changed. Run `pulumi up` first; without any volume `pulumi up` and Nomad's own "
            "commands are enough"
        )
    return found


def refuse_another(nomad: NomadApi, state: Mapping[str, Any]) -> None:
    """Raises WrongClusterError where the cluster has none of the volumes that are registered by the engine's state."""
    _refuse_without(nomad, _listed(nomad), stack.registrations(state))


def _listed(nomad: NomadApi) -> Sequence[dict[str, Any]]:
    return nomad.get("volumes", type="csi", namespace="*") or []


def _refuse_without(nomad: NomadApi, listed: Sequence[Mapping[str, Any]], wanted: Mapping[str, str]) -> None:
    here = {(str(one["ID"]), str(one["ExternalID"])) for one in listed}
    if wanted and here.isdisjoint(wanted.items()):
        volume_id, external_id = min(wanted.items())
        raise WrongClusterError(
            f"the Nomad cluster at {nomad.address} has none of the stack's volumes, such as {volume_id} "
            f"({external_id}): it is another cluster or region. {_REMEDY}"
        )
