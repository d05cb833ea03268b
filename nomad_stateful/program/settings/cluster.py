"""Which Nomad: the plugins `nomad` and `nomad-csi` are configured apart, and have to mean the same cluster."""

import os
from collections.abc import Mapping

import pulumi
from pulumi.runtime import config as pulumi_config

from nomad_stateful.nomad.address import without_user
from nomad_stateful.program.settings.errors import Problem, shown

# Key of either plugin -> the variable of the environment that stands in for it.
KEYS: Mapping[str, str] = {
    "address": "NOMAD_ADDR",
    "region": "NOMAD_REGION",
    "secretId": "NOMAD_TOKEN",
    "caFile": "NOMAD_CACERT",
    "caPem": "",
    "certFile": "NOMAD_CLIENT_CERT",
    "certPem": "",
    "keyFile": "NOMAD_CLIENT_KEY",
    "keyPem": "",
    "skipVerify": "NOMAD_SKIP_VERIFY",
}
_PLUGINS = ("nomad", "nomad-csi")
_HIDDEN = ("secretId", "keyPem")


def mismatches() -> list[Problem]:
    """Returns the settings of one plugin that the other does not have alike."""
    return [problem for key, variable in KEYS.items() for problem in _compared(key, variable)]


def _compared(key: str, variable: str) -> list[Problem]:
    fallback = os.environ.get(variable, "") if variable else ""
    given = {plugin: _configured(f"{plugin}:{key}") for plugin in _PLUGINS}
    first, second = (given[plugin] or fallback for plugin in _PLUGINS)
    if first == second:
        return []
    named, other = _PLUGINS if given["nomad"] else tuple(reversed(_PLUGINS))
    private = key in _HIDDEN or pulumi_config.is_config_secret(f"{named}:{key}")
    instead = f", or remove both and set {variable}" if variable else ""
    return [
        Problem(
            f"{named}:{key}",
            shown(without_user(given[named]) if key == "address" else given[named], private=private),
            f"the plugin {other} is configured with another value, and may reach another cluster",
            f"set {other}:{key} alike{instead}",
        )
    ]


def _configured(name: str) -> str:
    """Returns a plugin's setting as it stands in the stack's file, decrypted; empty when it is not there."""
    package, _, key = name.partition(":")
    if name not in pulumi_config.CONFIG.get():
        return ""
    # Compared and never shown: the SDK would warn of a plain read.
    return str(pulumi_config.CONFIG.get()[name]) if key in _HIDDEN else pulumi.Config(package).get(key) or ""
