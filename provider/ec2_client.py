"""The EC2 client of the resources that look at volumes."""

from __future__ import annotations

from typing import Any

from provider.rpc.values import ProviderError

# Asked for again by botocore, with pauses that grow and vary. Whoever waits for a volume goes on after them.
_RETRIES = 5
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
_PASSING_CODES = frozenset(
    {"RequestLimitExceeded", "Throttling", "ThrottlingException", "InternalError", "InternalFailure", "Unavailable"}
)


class Ec2Unavailable(ProviderError):  # noqa: N818 - says it already
    """EC2 did not answer, throttles or has an error of its own: later it may answer."""


def client_config() -> Any:
    """How clients of AWS wait and ask again."""
    from botocore.config import Config  # noqa: PLC0415

    return Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": _RETRIES})


def is_passing(error: Exception) -> bool:
    """Whether botocore's error is one that goes away by itself."""
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004, PLC0415

    if isinstance(error, ClientError):
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= 500 or error.response.get("Error", {}).get("Code") in _PASSING_CODES
    return isinstance(error, ConnectionError | HTTPClientError)


def ec2_client(region: str = "") -> Any:
    """A client for one region ("" is the default of the AWS configuration). Raises ProviderError without a region."""
    # boto3 takes a quarter of a second to import; only a refusal and a deletion need it.
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    try:
        return boto3.session.Session().client("ec2", region_name=region or None, config=client_config())
    except BotoCoreError as error:
        raise ProviderError(f"EC2 cannot be asked about volumes: {error}. Set region, or AWS_REGION") from error
