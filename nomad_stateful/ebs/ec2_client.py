"""EC2 and STS clients, and the check that they act in the account that a volume is in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from nomad_stateful.errors import ProviderError

if TYPE_CHECKING:
    from nomad_stateful.ebs.aws_session import AwsSession

_MAKING = Lock()
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
_TRANSIENT_CODES = frozenset(
    {"RequestLimitExceeded", "Throttling", "ThrottlingException", "InternalError", "InternalFailure", "Unavailable"}
)
_DENIED_CODES = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
_REMEDY = (
    "Use the credentials of the aws provider here too (AWS_PROFILE, or the stack's aws:profile, aws:assumeRoles), and "
    "run the same command again"
)


@dataclass(frozen=True)
class AwsPlace:
    """An account and region, and the aws provider's configuration for them."""

    region: str = ""
    """"" is the region of the AWS configuration."""
    account_id: str = ""
    """"" where it was not recorded: then "not found" may mean that it is elsewhere."""
    config: str = field(default="", repr=False)
    """The aws provider's configuration as JSON; "" where everything comes from the environment."""

    @classmethod
    def of(cls, props: Mapping[str, Any]) -> AwsPlace:
        """Returns the place in a resource's inputs or state."""
        return cls(props.get("region") or "", props.get("accountId") or "", props.get("awsConfig") or "")

    def __str__(self) -> str:
        return f"account {self.account_id or '(not recorded)'}, region {self.region or '(not recorded)'}"


class Ec2Unavailable(ProviderError):
    """A transient error: EC2 did not answer, throttles, or has an internal error."""


def is_transient(error: Exception) -> bool:
    """Returns whether an error of botocore is transient."""
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004

    if isinstance(error, ClientError):
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= 500 or error.response.get("Error", {}).get("Code") in _TRANSIENT_CODES
    return isinstance(error, ConnectionError | HTTPClientError)


@contextmanager
def ec2_errors(what: str, more: str = "") -> Iterator[None]:
    """A context in which botocore's errors are ProviderErrors, Ec2Unavailable for a transient one.

    They say that EC2 does not `what`; where that is not allowed, which action is to be allowed, and `more`.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        said = f"EC2 does not {what}: {error}"
        if is_transient(error):
            raise Ec2Unavailable(said) from error
        if isinstance(error, BotoCoreError):
            raise ProviderError(f"{said}. Check the AWS credentials, the region and the endpoint") from error
        # Credentials are renewed within a call: what STS refuses is no action of EC2's.
        of_ec2 = not error.operation_name.startswith("AssumeRole")
        denied = of_ec2 and error.response.get("Error", {}).get("Code") in _DENIED_CODES
        raise ProviderError(f"{said}. Allow ec2:{error.operation_name}{more}" if denied else said) from error


def ec2_client(place: AwsPlace | None = None) -> Any:
    """Returns the process's EC2 client for one place. Raises ProviderError without region or credentials.

    Threads share a client, which takes 0.2 s and 15 MiB to make.
    """
    return aws_client("ec2", place)


def aws_client(service: str, place: AwsPlace | None = None) -> Any:
    """Returns the process's client of a service for one place. Raises ProviderError without region or credentials."""
    place = place or AwsPlace()
    with _MAKING:
        return _client(service, place.region, place.config, _environment())


def prove_absence(place: AwsPlace, what: str) -> None:
    """Raises ProviderError unless "not found" means deleted: the request went to the account and region it is in."""
    if not place.account_id or not place.region:
        raise ProviderError(
            f"EC2 does not find {what}, but the stack's state does not say in which account and region it is "
            f"({place}): it may be elsewhere. Run `pulumi up` once, which records it. If it is gone for certain, take "
            "this resource out of the state with `pulumi state delete URN`"
        )
    account, arn = caller(place)
    if account != place.account_id:
        raise ProviderError(
            f"EC2 does not find {what}, which is in account {place.account_id}: the AWS credentials are of account "
            f"{account} ({arn}), which cannot see it. {_REMEDY}"
        )


def refuse_another_account(place: AwsPlace, what: str) -> None:
    """Raises ProviderError where the credentials are known to belong to another account."""
    if not place.account_id:
        return
    account, arn = caller(place)
    if account != place.account_id:
        raise ProviderError(
            f"{what} is in account {place.account_id}, but the AWS credentials are of account {account} ({arn}), which "
            f"would report it as deleted. {_REMEDY}"
        )


def caller(place: AwsPlace) -> tuple[str, str]:
    """Returns account and ARN of the credentials. Raises ProviderError, Ec2Unavailable for a transient error."""
    with _MAKING:
        return _caller(place.region, place.config, _environment())


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))


@lru_cache(maxsize=8)
def _caller(region: str, config: str, environment: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    from botocore.exceptions import BotoCoreError, ClientError

    sts_region = json.loads(config).get("stsRegion") if config else ""
    try:
        answer = _client("sts", sts_region or region, config, environment).get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        failure = Ec2Unavailable if is_transient(error) else ProviderError
        raise failure(f"AWS does not say whose credentials these are (sts:GetCallerIdentity): {error}") from error
    return str(answer["Account"]), str(answer["Arn"])


@lru_cache(maxsize=16)
def _client(service: str, region: str, config: str, environment: tuple[tuple[str, str], ...]) -> Any:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        # boto3 reads AWS_DEFAULT_REGION only, AWS's other tools AWS_REGION too.
        named = region or os.environ.get("AWS_REGION") or ""
        return _session(config, named, environment).client(service, named)
    except (BotoCoreError, ClientError, ValueError) as error:
        raise ProviderError(
            f"cannot create a client for EC2: {error}. Set region, or AWS_REGION, and credentials"
        ) from error


@lru_cache(maxsize=8)
def _session(config: str, region: str, _environment: tuple[tuple[str, str], ...]) -> AwsSession:
    from nomad_stateful.ebs.aws_session import AwsSession

    return AwsSession(json.loads(config) if config else {}, region)
