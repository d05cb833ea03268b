"""What can only be checked against AWS and Nomad themselves, before the first resource is planned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pulumi
import pulumi_aws as aws

from provider.sdk import Cluster, get_cluster
from settings import Problem, Settings, SettingsError

T = TypeVar("T")


@dataclass(frozen=True)
class Surroundings:
    """The account and region the stack is in."""

    account_id: str
    partition: str
    region: str


def check(settings: Settings) -> Surroundings:
    """Raises SettingsError where AWS or Nomad cannot be reached or does not have what the settings name."""
    identity = _reached(
        "AWS", aws.get_caller_identity, "check the region, the credentials and the endpoint of the aws provider"
    )
    zones = _reached(
        "AWS", lambda: aws.get_availability_zones(state="available"), "allow ec2:DescribeAvailabilityZones"
    )
    cluster = _reached("Nomad", get_cluster, "check NOMAD_ADDR and NOMAD_TOKEN, and that a server answers there")
    problems = [
        *_unknown_zones(settings, zones.names, zones.region),
        *_zones_without_client(settings, cluster),
        *_zones_without_privileged_docker(settings, cluster),
        *_unknown_role(settings),
    ]
    if problems:
        raise SettingsError(problems)
    return Surroundings(account_id=identity.account_id, partition=identity.arn.split(":")[1], region=zones.region)


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
