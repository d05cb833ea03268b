"""The connection to EC2."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock, local
from typing import TYPE_CHECKING, Any, Final

from sandbox.standins.ebs_csi_driver.version import DRIVER_VERSION

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

ENDPOINT_VARIABLE: Final = "AWS_EC2_ENDPOINT"
REGION_VARIABLE: Final = "AWS_REGION"
ATTEMPTS: Final = 8
"""Tries of one request, with growing pauses, when EC2 throttles or does not answer."""


@dataclass(frozen=True)
class ClientSettings:
    """How to reach EC2; an empty endpoint is the region's own."""

    region: Callable[[], str]
    endpoint: str = ""
    on_try: Callable[[str, str, float], None] | None = None
    """Told each answered try of a request: the operation, the code of its error (empty for none), and its seconds."""


def endpoint_from(env: Mapping[str, str] | None = None) -> str:
    """EC2's address as the environment gives it, or ""."""
    return (os.environ if env is None else env).get(ENDPOINT_VARIABLE, "")


class Ec2:
    """Makes the EC2 client when it is first used: boto3 is slow to load, and a driver has to listen at once."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._client: EC2Client | None = None
        self._lock = Lock()
        self._trying = local()

    @property
    def client(self) -> EC2Client:
        """The one client; safe to use from many threads. One that found no credentials is not kept."""
        with self._lock:
            if self._client is not None:
                return self._client
            client, has_credentials = self._make()
            if has_credentials:
                self._client = client
            return client

    def _make(self) -> tuple[EC2Client, bool]:
        import boto3
        from botocore.config import Config

        config = Config(
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            connect_timeout=5,
            read_timeout=30,
            max_pool_connections=32,
            user_agent_extra=f"ebs-csi-driver/{DRIVER_VERSION}",
        )
        session = boto3.session.Session(region_name=self._settings.region())
        # Asked first: the client is made with what was found, and they may be there a moment after that.
        has_credentials = session.get_credentials() is not None
        client = session.client("ec2", endpoint_url=self._settings.endpoint or None, config=config)
        if self._settings.on_try:
            client.meta.events.register_first("before-send.ec2", self._begin)
            client.meta.events.register_first("needs-retry.ec2", self._tell)
        return client, has_credentials

    def _begin(self, **_: Any) -> None:
        self._trying.since = time.monotonic()

    def _tell(self, response: Any, operation: Any, **_: Any) -> None:
        """A try that was not answered has neither an error's code nor a duration."""
        if self._settings.on_try and response is not None:
            code = str(response[1].get("Error", {}).get("Code", ""))
            self._settings.on_try(str(operation.name), code, time.monotonic() - self._trying.since)
