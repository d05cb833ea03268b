"""What AWS and Nomad answer, or the SettingsError that says why they do not."""

import json
from concurrent.futures import Future
from typing import Any

import pulumi

from nomad_stateful.ebs import aws_session
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.settings import Problem, SettingsError, aws
from nomad_stateful.sdk import Cluster

_NOMAD_REMEDY = (
    "check what names the cluster: NOMAD_ADDR, NOMAD_TOKEN and, with TLS, NOMAD_CACERT, NOMAD_CLIENT_CERT and "
    "NOMAD_CLIENT_KEY"
)
_AWS_REMEDY = "check the region, the credentials and the endpoint of the aws provider"
_ZONES_REMEDY = "allow ec2:DescribeAvailabilityZones"
_VOLUMES_REMEDY = "allow ec2:DescribeVolumes; what passes by itself, such as throttling, needs the same command again"


def identity(prefetch: Prefetch) -> dict[str, Any]:
    """Returns the accountId and arn of the aws provider's credentials."""
    return _answer("AWS", prefetch.identity, _AWS_REMEDY)


def zones(prefetch: Prefetch) -> dict[str, Any]:
    """Returns the region, and the names of its availability zones."""
    return _answer("AWS", prefetch.zones, _ZONES_REMEDY)


def cluster(prefetch: Prefetch) -> Cluster:
    """Returns Nomad's servers and clients, once the nomad provider reaches the cluster as well."""
    found = Cluster.of(of_nomad(prefetch.cluster))
    of_nomad(prefetch.plugins)
    return found


def of_nomad(answer: "Future[dict[str, Any]]") -> dict[str, Any]:
    """Returns an answer of Nomad."""
    return _answer("Nomad", answer, _NOMAD_REMEDY)


def of_volumes(answer: "Future[dict[str, Any]]") -> dict[str, Any]:
    """Returns EC2's answer about the stack's volumes: without it an empty one could be made beside one with data."""
    return _answer("the stack's EBS volumes", answer, _VOLUMES_REMEDY)


def place(prefetch: Prefetch) -> AwsPlace:
    """Returns where the aws provider makes resources, for questions that it has no function for."""
    account_id = identity(prefetch)["accountId"]
    return AwsPlace(zones(prefetch)["region"], account_id, aws_text())


def aws_config() -> pulumi.Input[str]:
    """Returns the aws provider's configuration as JSON; a secret where it holds one."""
    text = aws_text()
    holds_secret = any(key in aws_session.SECRET_KEYS | aws.secret_keys() for key in json.loads(text or "{}"))
    return pulumi.Output.secret(text) if holds_secret else text


def aws_text() -> str:
    """Returns the same in clear, for calls of functions."""
    return aws_session.chosen(aws.provider_config())


def _answer(what: str, answer: "Future[dict[str, Any]]", remedy: str) -> dict[str, Any]:
    try:
        return answer.result()
    except CallError as error:
        raise SettingsError([Problem(what, "not usable", str(error), remedy)]) from None
