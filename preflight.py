"""What can only be checked against AWS and Nomad themselves, before the first resource is planned."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pulumi
import pulumi_aws as aws
from pulumi.runtime.sync_await import _sync_await

from provider.sdk import Cluster, get_cluster_async
from settings import Problem, Settings, SettingsError, cluster

T = TypeVar("T")
_NOMAD_REMEDY = (
    "check what names the cluster: NOMAD_ADDR, NOMAD_TOKEN and, with TLS, NOMAD_CACERT, NOMAD_CLIENT_CERT and "
    "NOMAD_CLIENT_KEY"
)


@dataclass(frozen=True)
class Surroundings:
    """The account and region the stack is in."""

    account_id: str
    partition: str
    region: str


def check(settings: Settings) -> Surroundings:
    """Raises SettingsError where AWS or Nomad cannot be reached or does not have what the settings name."""
    apart = cluster.mismatches()
    if apart:
        raise SettingsError(apart)
    asked = asyncio.ensure_future(_cluster_meanwhile())
    try:
        identity = _reached(
            "AWS", aws.get_caller_identity, "check the region, the credentials and the endpoint of the aws provider"
        )
        zones = _reached(
            "AWS", lambda: aws.get_availability_zones(state="available"), "allow ec2:DescribeAvailabilityZones"
        )
        nomad = _reached("Nomad", lambda: _sync_await(asked), _NOMAD_REMEDY)
    finally:
        # The SDK wants every call to have ended before the program does, also when another failed.
        _sync_await(asyncio.wait([asked]))
        asked.exception()
    problems = [
        *_unknown_zones(settings, zones.names, zones.region),
        *_zones_without_client(settings, nomad),
        *_zones_without_privileged_docker(settings, nomad),
        *_unknown_role(settings),
    ]
    if problems:
        raise SettingsError(problems)
    return Surroundings(account_id=identity.account_id, partition=identity.arn.split(":")[1], region=zones.region)


async def _cluster_meanwhile() -> Cluster:
    """Nomad's answer, asked for once AWS is being asked: that plugin takes longest to be ready, so it starts first."""
    await asyncio.sleep(0.02)
    return await get_cluster_async()


def _reached(what: str, call: Callable[[], T], remedy: str) -> T:
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - the SDK raises bare Exceptions for failed invokes
        raise SettingsError([Problem(what, "not usable", _cause(error), remedy)]) from None


def _cause(error: Exception) -> str:
    """The plugin's own words, without the engine's wrapping."""
    text = str(error).strip()
    return text.rsplit("returned an error: ", 1)[-1].rstrip(".") or type(error).__name__


def _unknown_zones(settings: Settings, known: Sequence[str], region: str) -> list[Problem]:
    return [
        Problem(
            f"volumes.{volume.name}.zone",
            zone,
            f"the region {region} has no such zone",
            f"use one of {', '.join(known)}",
        )
        for volume in settings.volumes
        for zone in dict.fromkeys(member.zone for member in volume.members)
        if zone and zone not in known
    ]


def _zones_without_client(settings: Settings, cluster: Cluster) -> list[Problem]:
    problems = []
    for volume in settings.volumes:
        for zone in dict.fromkeys(member.zone for member in volume.members if member.zone):
            if all(node.zone != zone for node in cluster.nodes):
                where = ", ".join(sorted({node.zone for node in cluster.nodes if node.zone})) or "none"
                problems.append(
                    Problem(
                        f"volumes.{volume.name}.zone",
                        zone,
                        f"no Nomad client is in this zone (clients are in: {where})",
                        "start a client there, or put the volume where a client is",
                    )
                )
            elif zone not in cluster.zones:
                pulumi.warn(f"volumes.{volume.name}.zone is {zone}: no Nomad client of this zone is ready just now.")
    return problems


def _zones_without_privileged_docker(settings: Settings, cluster: Cluster) -> list[Problem]:
    return [
        Problem(
            f"plugins.{plugin.id}.taskDriver",
            "docker",
            f"no Nomad client in {zone} allows privileged containers, which a node plugin must be",
            'set allow_privileged = true in the client\'s plugin "docker" block and restart the client',
        )
        for plugin in settings.plugins
        if plugin.task_driver == "docker"
        for zone in settings.zones_of(plugin)
        if any(node.zone == zone for node in cluster.nodes)
        and not any(node.docker_privileged for node in cluster.nodes if node.zone == zone)
    ]


def _unknown_role(settings: Settings) -> list[Problem]:
    try:
        aws.iam.get_role(name=settings.client_role)
    except Exception as error:  # noqa: BLE001 - the SDK raises bare Exceptions for failed invokes
        return [
            Problem(
                "clientRole",
                settings.client_role,
                f"the role cannot be read: {_cause(error)}",
                "name the role of the Nomad clients' instance profile",
            )
        ]
    return []
