"""What can only be checked against AWS and Nomad themselves, before the first resource is planned."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.runtime import invoke_async
from pulumi.runtime.sync_await import _sync_await
from pulumi_aws import _utilities as aws_sdk
from pulumi_nomad import _utilities as nomad_sdk

from provider.sdk import Cluster, get_cluster_async
from settings import Problem, Settings, SettingsError, cluster

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


@dataclass(frozen=True)
class _Answers:
    """What AWS and Nomad say, or the error that came instead."""

    identity: Any
    zones: Any
    role: Any
    cluster: Any
    plugins: Any


def check(settings: Settings) -> Surroundings:
    """Raises SettingsError where AWS or Nomad cannot be reached or does not have what the settings name."""
    apart = cluster.mismatches()
    if apart:
        raise SettingsError(apart)
    # At once, since the engine starts a plugin, one after the other, for the first question to each.
    answers = _sync_await(_ask(settings))
    identity = _known("AWS", answers.identity, "check the region, the credentials and the endpoint of the aws provider")
    zones = _known("AWS", answers.zones, "allow ec2:DescribeAvailabilityZones")
    nomad: Cluster = _known("Nomad", answers.cluster, _NOMAD_REMEDY)
    _known("Nomad", answers.plugins, _NOMAD_REMEDY)
    problems = [
        *_unknown_zones(settings, zones["names"], zones["region"]),
        *_zones_without_client(settings, nomad),
        *_zones_without_privileged_docker(settings, nomad),
        *_unknown_role(settings, answers.role),
    ]
    if problems:
        raise SettingsError(problems)
    return Surroundings(
        account_id=identity["accountId"], partition=identity["arn"].split(":")[1], region=zones["region"]
    )


async def _ask(settings: Settings) -> _Answers:
    """Asks everything; every call has ended when it returns, as the SDK wants."""
    of_aws, of_nomad = aws_sdk.get_invoke_opts_defaults(), nomad_sdk.get_invoke_opts_defaults()
    asked = (
        invoke_async("aws:index/getCallerIdentity:getCallerIdentity", {}, of_aws),
        invoke_async("aws:index/getAvailabilityZones:getAvailabilityZones", {"state": "available"}, of_aws),
        invoke_async("aws:iam/getRole:getRole", {"name": settings.client_role}, of_aws),
        get_cluster_async(),
        # Our own plugin asks about the clients; this shows that the nomad provider reaches the cluster as well.
        invoke_async("nomad:index/getPlugins:getPlugins", {}, of_nomad),
    )
    return _Answers(*await asyncio.gather(*asked, return_exceptions=True))


def _known(what: str, answer: Any, remedy: str) -> Any:
    if isinstance(answer, BaseException):
        raise SettingsError([Problem(what, "not usable", _cause(answer), remedy)])
    return answer


def _cause(error: BaseException) -> str:
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


def _unknown_role(settings: Settings, answer: Any) -> list[Problem]:
    if not isinstance(answer, BaseException):
        return []
    return [
        Problem(
            "clientRole",
            settings.client_role,
            f"the role cannot be read: {_cause(answer)}",
            "name the role of the Nomad clients' instance profile",
        )
    ]
