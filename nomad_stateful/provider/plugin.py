"""The nomad-csi plugin: its types, its functions and its configuration."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.nomad import api as nomad_api
from nomad_stateful.nomad.api import CONFIG_ARGUMENTS, NomadApi
from nomad_stateful.nomad.retry import RETRY_LIMIT_S
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Plugin, Props, decode_config
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.provider.account import InAccount
from nomad_stateful.provider.declared import DeclaredFunction, DeclaredResource
from nomad_stateful.provider.functions.found import GetCluster, GetJob, GetService, GetVolumes
from nomad_stateful.provider.functions.get_owners import GetOwners
from nomad_stateful.provider.functions.get_placement import GetPlacement
from nomad_stateful.provider.resources.csi_volume_guard import CsiVolumeGuard
from nomad_stateful.provider.resources.generated_secret import GeneratedSecret
from nomad_stateful.provider.resources.job_health import JobHealth
from nomad_stateful.provider.resources.ownership import Ownership
from nomad_stateful.provider.resources.plugin_health import PluginHealth
from nomad_stateful.provider.resources.replication_group import ReplicationGroup
from nomad_stateful.provider.resources.volume_growth import VolumeGrowth
from nomad_stateful.provider.resources.volume_guard import VolumeGuard
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.schema.config import CONFIG
from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.schema.package import package_schema
from nomad_stateful.version import VERSION
from nomad_stateful.waiting import Context, RetryPolicy

if TYPE_CHECKING:
    from nomad_stateful.components.package.host import Components

_STRINGS = frozenset(key for key, field in CONFIG.items() if field.kind == "string")


class NomadCsiPlugin(Plugin):
    """Connects to Nomad when the first resource needs it, so that a program without any works without Nomad."""

    name = PACKAGE
    version = VERSION
    secret_config = frozenset(key for key, field in CONFIG.items() if field.secret)

    def __init__(self) -> None:
        self._config: Props = {}
        self._connected: NomadApi | None = None
        self._lock = threading.Lock()
        self.resources: list[DeclaredResource] = [
            PluginHealth(self._api),
            VolumeGuard(),
            CsiVolumeGuard(self._api),
            VolumeProtection(api=self._api),
            VolumeGrowth(self._api),
            VolumeRelease(self._api),
            JobHealth(self._api),
            GeneratedSecret(),
            Ownership(self._api),
            ReplicationGroup(self._api),
        ]
        self.functions: list[DeclaredFunction] = [
            GetCluster(self._api),
            GetJob(self._api),
            GetOwners(self._api),
            GetPlacement(self._api),
            GetService(self._api),
            GetVolumes(),
        ]
        for one in (*self.resources, *self.functions):
            if isinstance(one, InAccount):
                one.account = self._account
        *others, last = [one.table.name for one in self.resources] + [one.table.name for one in self.functions]
        self.unrecognized_note = f"The {PACKAGE} plugin has {', '.join(others)} and {last}."

    def prepare(self) -> None:
        """Imports the HTTP client."""
        nomad_api.prepare()

    def check_config(self, ctx: Context, olds: Props, news: Props) -> Checked:
        config = decode_config(news, _STRINGS)
        known = ", ".join(sorted(CONFIG))
        failures = [
            CheckFailure(key, f"{key} is not a setting of nomad-csi. The settings are {known}")
            for key in config
            if key not in CONFIG
        ]
        address = config.get("address", "")
        if isinstance(address, str) and address and not address.startswith(("http://", "https://")):
            rule = "it must begin with http:// or https://"
            failures.append(
                CheckFailure("address", f"address is {address!r}: {rule}. For example http://10.0.0.5:4646")
            )
        if not isinstance(config.get("skipVerify", False), bool) and not contains_unknown(config["skipVerify"]):
            failures.append(CheckFailure("skipVerify", "skipVerify must be true or false"))
        failures += CONFIG["awsAccountId"].failures("awsAccountId", config.get("awsAccountId", ""))
        failures += _json_failures(config.get("awsConfig"))
        return Checked(news, failures)

    def configure(self, config: Props) -> None:
        with self._lock:
            self._config, self._connected = decode_config(config, _STRINGS), None

    def schema(self) -> dict[str, Any]:
        own = package_schema(self.version, [one.table for one in self.resources], [one.table for one in self.functions])
        of_components = self.components().schema()
        return own | {kind: own[kind] | of_components[kind] for kind in ("resources", "types")}

    def components(self) -> Components:
        """Returns the components, which are imported when they are first asked for: most programs never do."""
        from nomad_stateful.components.package.host import components

        with self._lock:
            return components()

    def _account(self) -> AwsPlace:
        """Returns the AWS account, an empty one where none is configured."""
        with self._lock:
            region, account_id, config = (
                value if isinstance(value := self._config.get(key), str) else ""
                for key in ("awsRegion", "awsAccountId", "awsConfig")
            )
        return AwsPlace(region, account_id, config)

    def _api(self) -> NomadApi:
        """Returns the cluster, connected to on first use."""
        with self._lock:
            if self._connected is None:
                overrides = {
                    CONFIG_ARGUMENTS[key]: value for key, value in self._config.items() if key in CONFIG_ARGUMENTS
                }
                self._connected = NomadApi.from_env(overrides, retry=RetryPolicy(RETRY_LIMIT_S, self.cancelled))
            return self._connected


def _json_failures(config: Any) -> list[CheckFailure]:
    """Returns what is wrong with the aws provider's configuration, which may hold keys: it is not shown."""
    if contains_unknown(config) or not config:
        return []
    try:
        if isinstance(json.loads(config), dict):
            return []
    except (TypeError, ValueError):
        pass
    return [CheckFailure("", "awsConfig is not a JSON object: give the aws provider's settings, by their own keys")]
