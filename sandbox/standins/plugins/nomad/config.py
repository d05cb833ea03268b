"""The provider's configuration: which Nomad, and with which credentials."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.nomad.retry import RETRY_LIMIT_S
from nomad_stateful.nomad.tls import CONFIG_FIELDS, TlsSettings
from nomad_stateful.plugin_server.plugin import CheckFailure, Props, decode_config
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.waiting import RetryPolicy

SECRET_CONFIG = frozenset({"keyPem", "httpAuth", "secretId", "headers"})

# Configuration key -> the environment variable that stands in for it
_ENVIRONMENT = {
    "address": "NOMAD_ADDR",
    "region": "NOMAD_REGION",
    "caFile": "NOMAD_CACERT",
    "certFile": "NOMAD_CLIENT_CERT",
    "keyFile": "NOMAD_CLIENT_KEY",
    "secretId": "NOMAD_TOKEN",
    "httpAuth": "NOMAD_HTTP_AUTH",
    "skipVerify": "NOMAD_SKIP_VERIFY",
}
_STRINGS = frozenset({*_ENVIRONMENT, "caPem", "certPem", "keyPem"} - {"skipVerify"})
_KNOWN = _STRINGS | {"skipVerify", "headers", "ignoreEnvVars", "authJwt"}
# What the official plugin's client takes from the environment alone
_TLS_ENVIRONMENT = ("NOMAD_CAPATH", "NOMAD_TLS_SERVER_NAME")


def config_failures(wire: Props, env: Mapping[str, str] = os.environ) -> list[CheckFailure]:
    """What is wrong with the configuration in wire form."""
    given = decode_config(wire, _STRINGS)
    failures = [
        CheckFailure("", f"nomad:{key} is not a configuration key of this provider: remove it")
        for key in sorted(set(given) - _KNOWN)
    ]
    if given.get("authJwt"):
        failures.append(
            CheckFailure(
                "", "nomad:authJwt is not implemented by the embedded plugin: set nomad:secretId or NOMAD_TOKEN"
            )
        )
    if not _settings(given, env).get("address"):
        reason = "missing a required configuration key: nomad:address. Set it, or NOMAD_ADDR in the environment"
        failures.append(CheckFailure("address", reason))
    address = given.get("address")
    if isinstance(address, str) and address and not address.startswith(("http://", "https://")):
        failures.append(CheckFailure("address", "nomad:address must begin with http:// or https://"))
    return failures


class Connection:
    """The client for the configured Nomad, made when the provider is configured."""

    def __init__(self) -> None:
        self._api: NomadApi | None = None
        self.address = ""

    @property
    def api(self) -> NomadApi:
        """The client; raises ProviderError while there is no configuration."""
        if self._api is None:
            raise ProviderError("the nomad provider is not configured: set nomad:address or NOMAD_ADDR")
        return self._api

    def configure(
        self, wire: Props, env: Mapping[str, str] = os.environ, cancelled: threading.Event | None = None
    ) -> None:
        """Takes the configuration in wire form; what sets `cancelled` ends requests that are tried again."""
        settings = _settings(decode_config(wire, _STRINGS), env)
        if not settings.get("address"):
            return  # still unknown in a preview, or refused by the check
        self.address = str(settings["address"])
        self._api = NomadApi(
            self.address,
            token=str(settings.get("secretId") or ""),
            region=str(settings.get("region") or ""),
            tls=_tls(settings, env),
            headers=_headers(settings),
            http_auth=str(settings.get("httpAuth") or ""),
            retry=RetryPolicy(RETRY_LIMIT_S, cancelled or threading.Event()),
        )


@contextmanager
def told(what: str) -> Iterator[None]:
    """Puts what failed before Nomad's words."""
    try:
        yield
    except ProviderError as error:
        raise ProviderError(f"{what}: {error}") from None


def unless_gone(what: str, call: Callable[[], Any]) -> Any:
    """Returns what a request is answered, None where Nomad has no such thing; `what` goes before other errors."""
    with told(what):
        try:
            return call()
        except NomadNotFound:
            return None


def _tls(settings: Props, env: Mapping[str, str]) -> TlsSettings:
    given = {field: settings.get(key) for key, field in CONFIG_FIELDS.items()}
    return TlsSettings.of(given, {name: env.get(name, "") for name in _TLS_ENVIRONMENT})


def _settings(given: Props, env: Mapping[str, str]) -> Props:
    """Configuration with the environment's values where nothing is given and they are not to be ignored."""
    ignored = given.get("ignoreEnvVars") or {}
    settings = {key: value for key, value in given.items() if value is not UNKNOWN}
    for key, variable in _ENVIRONMENT.items():
        if key not in given and env.get(variable) and not _is_true(ignored.get(variable)):
            settings[key] = env[variable]
    if given.get("address") is UNKNOWN:
        settings["address"] = ""
    return settings


def _headers(settings: Props) -> dict[str, str]:
    return {str(item["name"]): str(item["value"]) for item in settings.get("headers") or []}


def _is_true(value: Any) -> bool:
    return value is True or str(value).lower() in {"true", "1"}
