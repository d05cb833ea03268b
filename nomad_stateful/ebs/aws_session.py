"""Credentials and clients from the aws provider's configuration, so that both act in the same account."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nomad_stateful.errors import ProviderError, unsendable

# botocore's own attempts, with backoff and jitter; a wait for a volume goes on after them.
_RETRIES = 5
SECRET_KEYS = frozenset({"accessKey", "secretKey", "token"})
_KEYS = SECRET_KEYS | {
    "assumeRoleWithWebIdentity",
    "assumeRoles",
    "customCaBundle",
    "endpoints",
    "httpProxy",
    "httpsProxy",
    "insecure",
    "profile",
    "sharedConfigFiles",
    "sharedCredentialsFiles",
    "stsRegion",
    "useDualstackEndpoint",
    "useFipsEndpoint",
}
"""The keys of the aws provider's configuration that decide credentials, region and endpoint."""
_SINGLE = {"sessionName": "RoleSessionName", "externalId": "ExternalId", "policy": "Policy"}
_OF_ROLES = {**_SINGLE, "sourceIdentity": "SourceIdentity", "transitiveTagKeys": "TransitiveTagKeys"}
_DURATION_PARTS = re.compile(r"(\d+)([hms])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def chosen(config: Mapping[str, Any]) -> str:
    """Returns what decides in the aws provider's configuration as JSON; "" where all of it is in the environment."""
    found = {key: value for key, value in config.items() if key in _KEYS and value not in (None, "", [], {}, False)}
    return json.dumps(found, sort_keys=True) if found else ""


class AwsSession:
    """One configuration's credentials; https://www.pulumi.com/registry/packages/aws/installation-configuration/."""

    def __init__(self, config: Mapping[str, Any], region: str) -> None:
        """Takes the configuration by the provider's own keys; what it leaves out comes from AWS's default chain."""
        self._config = config
        self._region = region
        self._session = self._from_config()
        if web := config.get("assumeRoleWithWebIdentity"):
            self._session = self._with_web_identity(_mapping("assumeRoleWithWebIdentity", web))
        for role in _list("assumeRoles", config.get("assumeRoles")):
            self._session = self._with_role(_mapping("assumeRoles", role))

    def client(self, service: str, region: str) -> Any:
        """Returns a client of a service; "" is the region of the AWS configuration. Raises botocore's errors."""
        config = self._config
        _refuse_unsendable(self._session.get_credentials())
        endpoints = {key: url for one in _list("endpoints", config.get("endpoints")) for key, url in one.items() if url}
        verify: Any = False if _flag(config, "insecure") else config.get("customCaBundle") or None
        return self._session.client(
            service,
            region_name=region or self._session.region_name,
            endpoint_url=endpoints.get(service),
            verify=verify,
            config=self._client_config(),
        )

    def _client_config(self) -> Any:
        from botocore.config import Config

        config = self._config
        proxies = {
            scheme: config[key] for scheme, key in (("http", "httpProxy"), ("https", "httpsProxy")) if config.get(key)
        }
        return Config(
            connect_timeout=5,
            read_timeout=20,
            retries={"mode": "standard", "max_attempts": _RETRIES},
            proxies=proxies or None,
            use_fips_endpoint=_flag(config, "useFipsEndpoint") or None,
            use_dualstack_endpoint=_flag(config, "useDualstackEndpoint") or None,
        )

    def _from_config(self) -> Any:
        # boto3 takes a quarter of a second to import; only a refusal and a deletion need it.
        import boto3
        from botocore.session import Session

        config = self._config
        core = Session(profile=config.get("profile") or None)
        files = {"config_file": "sharedConfigFiles", "credentials_file": "sharedCredentialsFiles"}
        for variable, key in files.items():
            if found := _list(key, config.get(key)):
                # botocore reads one file; in the provider the last one takes precedence.
                core.set_config_variable(variable, str(Path(str(found[-1])).expanduser()))
        if config.get("accessKey"):
            core.set_credentials(config["accessKey"], config.get("secretKey") or "", config.get("token") or None)
        return boto3.Session(botocore_session=core, region_name=self._region or None)

    def _sts(self) -> Any:
        return self.client("sts", self._config.get("stsRegion") or "")

    def _with_role(self, role: Mapping[str, Any]) -> Any:
        from botocore.credentials import RefreshableCredentials, create_assume_role_refresher

        refresh = create_assume_role_refresher(self._sts(), _parameters("assumeRoles", role, _OF_ROLES))
        return self._with(RefreshableCredentials.create_from_metadata(refresh(), refresh, "sts-assume-role"))

    def _with_web_identity(self, role: Mapping[str, Any]) -> Any:
        from botocore.credentials import RefreshableCredentials

        key, sts = "assumeRoleWithWebIdentity", self._sts()

        def refresh() -> dict[str, str]:
            file = role.get("webIdentityTokenFile")
            token = Path(file).read_text(encoding="utf-8").strip() if file else role.get("webIdentityToken")
            answer = sts.assume_role_with_web_identity(**_parameters(key, role, _SINGLE), WebIdentityToken=token)
            made = answer["Credentials"]
            return {
                "access_key": made["AccessKeyId"],
                "secret_key": made["SecretAccessKey"],
                "token": made["SessionToken"],
                "expiry_time": made["Expiration"].isoformat(),
            }

        return self._with(
            RefreshableCredentials.create_from_metadata(refresh(), refresh, "assume-role-with-web-identity")
        )

    def _with(self, credentials: Any) -> Any:
        import boto3
        from botocore.session import Session

        core: Any = Session()
        core._credentials = credentials  # noqa: SLF001 - botocore has no public way to give a session such credentials
        return boto3.Session(botocore_session=core, region_name=self._region or None)


def _refuse_unsendable(found: Any) -> None:
    """Raises ProviderError for fixed credentials that a request's headers cannot have: botocore would print them."""
    from botocore.credentials import Credentials

    if type(found) is not Credentials:  # others are renewed, and STS made them
        return
    names = {"access_key": "access key", "secret_key": "secret key", "token": "session token"}
    for name, what in names.items():
        if why := unsendable(f"the AWS {what} ({found.method})", getattr(found, name) or ""):
            raise ProviderError(why)


def _parameters(key: str, role: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Returns one role of the configuration as the parameters of an STS call."""
    if not role.get("roleArn"):
        raise ProviderError(f"aws:{key} has no roleArn: every role to assume needs one. Set its ARN")
    found = {names[name]: value for name, value in role.items() if name in names and value}
    found = {"RoleArn": role["roleArn"], "RoleSessionName": "nomad-stateful", **found}
    if duration := role.get("duration"):
        parts = _DURATION_PARTS.findall(str(duration))
        if "".join(number + unit for number, unit in parts) != str(duration):
            raise ProviderError(f"aws:{key} has duration {duration}: a duration has a unit. Use for example 1h")
        found["DurationSeconds"] = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    if arns := role.get("policyArns"):
        found["PolicyArns"] = [{"arn": arn} for arn in arns]
    if names is _OF_ROLES and (tags := role.get("tags")):
        found["Tags"] = [{"Key": name, "Value": str(value)} for name, value in tags.items()]
    return found


def _flag(config: Mapping[str, Any], key: str) -> bool:
    return str(config.get(key) or "").lower() in {"true", "1"}


def _list(key: str, value: Any) -> list[Any]:
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise ProviderError(f"aws:{key} is not a list: the aws provider takes several. Write it as a list")
    return value


def _mapping(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ProviderError(f"aws:{key} is not an object: it has keys such as roleArn. Write it as one")
    return value
