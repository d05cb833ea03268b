"""The EC2 client of the resources that look at volumes."""

from __future__ import annotations

import os
from functools import lru_cache
from threading import Lock
from typing import Any

from provider.rpc.values import ProviderError

_MAKING = Lock()
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
    """The process's client for one region ("" is the AWS configuration's). Raises ProviderError where there is none.

    Many threads may share a client, and each takes a fifth of a second and 15 MiB to make.
    """
    environment = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    with _MAKING:
        return _client(region, environment)


@lru_cache(maxsize=8)
def _client(region: str, _environment: tuple[tuple[str, str], ...]) -> Any:
    # boto3 takes a quarter of a second to import; only a refusal and a deletion need it.
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    try:
        # boto3 knows AWS_DEFAULT_REGION alone, AWS's other tools AWS_REGION as well.
        named = region or os.environ.get("AWS_REGION") or None
        return boto3.session.Session().client("ec2", region_name=named, config=client_config())
    except BotoCoreError as error:
        raise ProviderError(f"EC2 cannot be asked about volumes: {error}. Set region, or AWS_REGION") from error
