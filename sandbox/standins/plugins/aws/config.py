"""The provider's configuration: what is understood, what is refused, and the typed result."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Props, decode_config
from sandbox.standins.plugins.aws.scope import not_implemented
from sandbox.standins.plugins.aws.tags import TagRules

STRINGS: Final = (
    "accessKey", "secretKey", "token", "profile", "region", "stsRegion", "retryMode", "customCaBundle", "httpProxy",
    "httpsProxy", "noProxy", "ec2MetadataServiceEndpoint", "ec2MetadataServiceEndpointMode", "tagPolicyCompliance",
    "s3UsEast1RegionalEndpoint",
)  # fmt: skip
_IMPLEMENTED: Final = frozenset({
    "accessKey", "allowedAccountIds", "assumeRoles", "defaultTags", "endpoints", "maxRetries", "profile", "region",
    "secretKey", "sharedCredentialsFiles", "skipCredentialsValidation", "skipRequestingAccountId", "token",
})  # fmt: skip
_WITHOUT_EFFECT_HERE: Final = frozenset(
    {"s3UsePathStyle", "s3UsEast1RegionalEndpoint", "skipRegionValidation", "userAgents"}
)
_REFUSED: Final = frozenset({
    "assumeRoleWithWebIdentity", "customCaBundle", "ec2MetadataServiceEndpoint", "ec2MetadataServiceEndpointMode",
    "forbiddenAccountIds", "httpProxy", "httpsProxy", "ignoreTags", "insecure", "noProxy", "retryMode",
    "sharedConfigFiles", "skipMetadataApiCheck", "stsRegion", "tagPolicyCompliance", "tokenBucketRateLimiterCapacity",
    "useDualstackEndpoint", "useFipsEndpoint",
})  # fmt: skip
_ASSUME_ROLE_KEYS: Final = {"roleArn": "RoleArn", "sessionName": "RoleSessionName", "externalId": "ExternalId"}


@dataclass(frozen=True)
class ProviderConfig:
    """Where AWS is, who asks, and which rules apply to everything this provider makes."""

    region: str
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    profile: str = ""
    endpoints: Mapping[str, str] = field(default_factory=dict)
    allowed_accounts: tuple[str, ...] = ()
    skip_credentials_validation: bool = False
    skip_account_id: bool = False
    tag_rules: TagRules = field(default_factory=TagRules)
    assume_roles: tuple[Mapping[str, Any], ...] = ()
    max_retries: int | None = None
    credentials_file: str = ""


def with_defaults(config: Props, env: Mapping[str, str] = os.environ) -> Props:
    """Returns wire-form configuration with what the official plugin fills in when a key is unset."""
    filled = {key: value for key, value in config.items() if value is not None}
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    if region:
        filled.setdefault("region", region)
    filled.setdefault("skipCredentialsValidation", env.get("AWS_SKIP_CREDENTIALS_VALIDATION") or "false")
    filled.setdefault("skipRegionValidation", "true")
    return filled


def problems(wire: Props) -> list[str]:
    """Says everything that is wrong with wire-form configuration without asking AWS; [] when nothing is."""
    config = decode_config(wire, STRINGS)
    found = [reason for key in sorted(config) if (reason := _key_problem(key, config[key]))]
    if not config.get("region"):
        found.append(
            "missing required configuration key 'aws:region': no AWS region is known. "
            "Set it with `pulumi config set aws:region <region>` or the environment variable AWS_REGION"
        )
    if found:
        return found
    try:
        parse(wire)
    except ProviderError as error:
        return [str(error)]
    return []


def _key_problem(key: str, value: Any) -> str | None:
    if key == "assumeRole":
        return "invalid config key 'aws:assumeRole', should be 'aws:assumeRoles'"
    if key in _REFUSED:
        idle = value in (None, "", False, 0, [], {}, "false") or (key, value) == ("tagPolicyCompliance", "disabled")
        return None if idle else not_implemented(f"the configuration key 'aws:{key}'")
    if key == "skipRegionValidation" and str(value).lower() in ("false", "0"):
        return not_implemented("false for the configuration key 'aws:skipRegionValidation'")
    if key not in _IMPLEMENTED | _WITHOUT_EFFECT_HERE:
        return f"invalid config key 'aws:{key}': the aws provider has no such key"
    return None


def parse(wire: Props) -> ProviderConfig:
    """Returns the typed configuration; raises ProviderError naming the first key whose value does not fit."""
    config = decode_config(wire, STRINGS)
    region = str(config.get("region") or "")
    if not re.fullmatch(r"[A-Za-z0-9-]+", region):
        raise ProviderError(f"aws:region is '{region}': a region holds letters, digits and hyphens only")
    return ProviderConfig(
        region=region,
        access_key=str(config.get("accessKey") or ""),
        secret_key=str(config.get("secretKey") or ""),
        token=str(config.get("token") or ""),
        profile=str(config.get("profile") or ""),
        endpoints=_endpoints(config),
        allowed_accounts=_accounts(config, "allowedAccountIds"),
        skip_credentials_validation=_flag(config, "skipCredentialsValidation", False),
        skip_account_id=_flag(config, "skipRequestingAccountId", False),
        tag_rules=_tag_rules(config),
        assume_roles=tuple(_assume_role(role) for role in _list(config, "assumeRoles")),
        max_retries=_count(config, "maxRetries"),
        credentials_file=_single_file(config, "sharedCredentialsFiles"),
    )


def _flag(config: Props, key: str, default: bool) -> bool:
    value = config.get(key)
    if value is None or value == "":
        return default
    text = str(value).lower()
    if text not in ("true", "false", "1", "0"):
        raise ProviderError(f"aws:{key} is '{value}': use true or false")
    return text in ("true", "1")


def _count(config: Props, key: str) -> int | None:
    value = config.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ProviderError(f"aws:{key} is {value!r}: use a whole number, 0 or more")
    return value


def _list(config: Props, key: str) -> list[Any]:
    value = config.get(key)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise ProviderError(f"aws:{key} is not a list: write it as a list, also for a single value")
    return value


def _object(config: Props, key: str) -> dict[str, Any]:
    value = config.get(key)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise ProviderError(f"aws:{key} is not an object")
    return value


def _accounts(config: Props, key: str) -> tuple[str, ...]:
    accounts = tuple(str(item).zfill(12) for item in _list(config, key))  # YAML reads an account id as a number
    for account in accounts:
        if not re.fullmatch(r"\d{12}", account):
            raise ProviderError(f"aws:{key} holds '{account}': an AWS account id has twelve digits")
    return accounts


def _endpoints(config: Props) -> dict[str, str]:
    merged: dict[str, str] = {}
    for item in _list(config, "endpoints"):
        if not isinstance(item, dict):
            raise ProviderError("aws:endpoints: each entry is an object of service names and URLs")
        merged.update({service: url for service, url in item.items() if url})
    for service, url in merged.items():
        if not str(url).startswith(("http://", "https://")):
            raise ProviderError(f"aws:endpoints has no URL for {service}: it starts with http:// or https://")
    return merged


def _tag_rules(config: Props) -> TagRules:
    defaults = _object(config, "defaultTags").get("tags") or {}
    return TagRules({key: str(value) for key, value in defaults.items()})


def _single_file(config: Props, key: str) -> str:
    files = _list(config, key)
    if len(files) > 1:
        raise ProviderError(not_implemented(f"more than one file in 'aws:{key}'"))
    return str(Path(str(files[0])).expanduser()) if files else ""


def _assume_role(role: Any) -> dict[str, Any]:
    """Returns one assumeRoles entry as the parameters of STS AssumeRole."""
    if not isinstance(role, dict) or not role.get("roleArn"):
        raise ProviderError("aws:assumeRoles: each entry needs a roleArn")
    params = {_ASSUME_ROLE_KEYS[key]: value for key, value in role.items() if key in _ASSUME_ROLE_KEYS and value}
    params.setdefault("RoleSessionName", "pulumi")
    if unknown := sorted(role.keys() - _ASSUME_ROLE_KEYS.keys()):
        raise ProviderError(not_implemented(f"'{unknown[0]}' in 'aws:assumeRoles'"))
    return params
