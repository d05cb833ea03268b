"""boto3 sessions and clients for a provider configuration. Importing this imports boto3: do so when AWS is needed."""

from __future__ import annotations

import os
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.credentials import RefreshableCredentials, create_assume_role_refresher
from botocore.session import Session as CoreSession

from sandbox.standins.plugins.aws.config import ProviderConfig

_ATTEMPTS: Final = 10  # with pauses that grow to 20 s: about a minute
_TIMEOUTS: Final = {"connect_timeout": 5, "read_timeout": 30}
_IDENTITY_ATTEMPTS: Final = 2
_IDENTITY_TIMEOUTS: Final = {"connect_timeout": 2, "read_timeout": 2}  # unreachable is told within five seconds


def new_session(config: ProviderConfig) -> boto3.Session:
    """Returns a session with the configured credentials, or the first that botocore's chain finds."""
    core = CoreSession(profile=config.profile or None)
    if config.credentials_file:
        core.set_config_variable("credentials_file", config.credentials_file)
    if config.access_key or config.secret_key:
        core.set_credentials(config.access_key, config.secret_key, config.token or None)
    session = boto3.Session(botocore_session=core, region_name=config.region)
    for role in config.assume_roles:
        session = _assumed(session, config, dict(role))
    return session


def new_client(session: boto3.Session, config: ProviderConfig, service: Any, region: str) -> Any:
    """Returns a client of a service; the one for identity gives up fast, as everything starts with it."""
    return session.client(
        service,
        region_name=region,
        endpoint_url=config.endpoints.get(service),
        config=_client_config(config, identity=service == "sts"),
    )


def _assumed(session: boto3.Session, config: ProviderConfig, params: dict[str, Any]) -> boto3.Session:
    """Returns a session whose credentials are those of a role, renewed before they expire."""
    sts = new_client(session, config, "sts", config.region)
    refresh = create_assume_role_refresher(sts, params)
    credentials = RefreshableCredentials.create_from_metadata(refresh(), refresh, "sts-assume-role")
    core: Any = CoreSession()
    core._credentials = credentials  # noqa: SLF001 - botocore has no public way to give a session such credentials
    return boto3.Session(botocore_session=core, region_name=config.region)


def _client_config(config: ProviderConfig, *, identity: bool) -> Config:
    retries: dict[str, Any] = {"mode": os.environ.get("AWS_RETRY_MODE") or "standard"}
    if identity:
        retries["total_max_attempts"] = _IDENTITY_ATTEMPTS
    elif config.max_retries is not None:
        retries["total_max_attempts"] = config.max_retries + 1
    elif "AWS_MAX_ATTEMPTS" not in os.environ:
        retries["total_max_attempts"] = _ATTEMPTS
    timeouts = _IDENTITY_TIMEOUTS if identity else _TIMEOUTS
    return Config(retries=retries, **timeouts)  # type: ignore[arg-type]
