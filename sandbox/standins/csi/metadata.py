"""The instance metadata service (IMDSv2): who this node is."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

ENDPOINT_VARIABLE: Final = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
DISABLED_VARIABLE: Final = "AWS_EC2_METADATA_DISABLED"
DEFAULT_ENDPOINT: Final = "http://169.254.169.254"

_TOKEN_TTL_S: Final = 300
_TIMEOUT_S: Final = 2.0
_ATTEMPTS: Final = 5


class MetadataError(Exception):
    """The metadata service did not answer, or not with what a node needs."""


@dataclass(frozen=True)
class NodeIdentity:
    """The instance this process runs on."""

    instance_id: str
    instance_type: str
    zone: str
    region: str
    network_interfaces: int
    """Attached when asked."""
    block_device_mappings: int
    """EBS volumes the instance booted with, its root not counted."""


class MetadataClient:
    """Reads the metadata service; holds one token."""

    def __init__(self, endpoint: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        if parts.scheme != "http" or not parts.hostname:
            raise MetadataError(f"{ENDPOINT_VARIABLE} is {endpoint!r}: an http:// address is expected")
        self._endpoint = endpoint
        self._host = parts.hostname
        self._port = parts.port or 80
        self._timeout_s = timeout_s
        self._token = ""

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> MetadataClient:
        """The client for the address the AWS SDKs would use; MetadataError where the environment switches it off."""
        env = os.environ if env is None else env
        if env.get(DISABLED_VARIABLE, "").lower() == "true":
            raise MetadataError(f"{DISABLED_VARIABLE} is true: the node cannot learn its identity. Unset it")
        return cls(env.get(ENDPOINT_VARIABLE) or DEFAULT_ENDPOINT)

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.request(method, path, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException, socket.gaierror) as error:
            raise MetadataError(f"the metadata service at {self._endpoint} does not answer: {error}") from error
        finally:
            connection.close()

    def _get(self, path: str) -> str | None:
        """One document; None where there is none."""
        if not self._token:
            headers = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_TTL_S)}
            status, self._token = self._request("PUT", "/latest/api/token", headers)
            if status != 200:
                self._token = ""
                raise MetadataError(f"the metadata service at {self._endpoint} gave no token: HTTP {status}")
        status, body = self._request("GET", path, {"X-aws-ec2-metadata-token": self._token})
        if status == 404:
            return None
        if status != 200:
            raise MetadataError(f"the metadata service at {self._endpoint} answered HTTP {status} to {path}")
        return body

    def identity(self) -> NodeIdentity:
        """The node's identity; MetadataError when it cannot be had."""
        document = self._get("/latest/dynamic/instance-identity/document")
        try:
            fields = json.loads(document or "")
            instance_id, instance_type = str(fields["instanceId"]), str(fields["instanceType"])
            zone, region = str(fields["availabilityZone"]), str(fields["region"])
        except (ValueError, KeyError, TypeError) as error:
            raise MetadataError(f"the instance identity document at {self._endpoint} is not usable: {error}") from error
        interfaces = (self._get("/latest/meta-data/network/interfaces/macs/") or "").split()
        mappings = (self._get("/latest/meta-data/block-device-mapping/") or "").split()
        return NodeIdentity(
            instance_id=instance_id,
            instance_type=instance_type,
            zone=zone,
            region=region,
            network_interfaces=max(1, len(interfaces)),
            block_device_mappings=sum(1 for name in mappings if name.startswith("ebs")),
        )

    def identity_with_retry(self, *, attempts: int = _ATTEMPTS, pause_s: float = 0.5) -> NodeIdentity:
        """`identity`, tried again for a service that comes up at the same time as the node."""
        for attempt in range(1, attempts + 1):
            try:
                return self.identity()
            except MetadataError:
                if attempt == attempts:
                    raise
                time.sleep(pause_s * attempt)
        raise AssertionError("unreachable")
