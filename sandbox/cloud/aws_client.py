"""Clients of the sandbox's AWS account."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from sandbox.cloud.credentials import AwsCredentials, aws_credentials
from sandbox.settings import SandboxSettings


def client(settings: SandboxSettings, service: str, keys: AwsCredentials | None = None) -> Any:
    """A boto3 client, with the sandbox's own keys if none are given.

    Nothing of the caller's own AWS configuration gets in, a proxy least of all.
    """
    keys = keys or aws_credentials(settings)
    session = boto3.Session(keys.access_key_id, keys.secret_access_key, region_name=settings.region)
    retries: Any = {"mode": "standard", "total_max_attempts": 6}
    config = Config(proxies={}, retries=retries, connect_timeout=5, read_timeout=60)
    return session.client(service, endpoint_url=settings.ec2_url, config=config)  # type: ignore[call-overload]


def signed_headers(settings: SandboxSettings, method: str, url: str, body: bytes | None = None) -> dict[str, str]:
    """Headers that sign a request to a page of the sandbox's own with the sandbox's key."""
    keys = aws_credentials(settings)
    request = AWSRequest(method, url, {"Content-Type": "application/json"}, body)
    SigV4Auth(Credentials(keys.access_key_id, keys.secret_access_key), "sandbox", settings.region).add_auth(request)
    return dict(request.headers.items())
