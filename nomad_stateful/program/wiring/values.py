"""Puts values in the place of what the plan leaves for later."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypedDict, TypeVar, Unpack

import pulumi

from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_registration import RegisteredCsiVolume
from nomad_stateful.components.database import DatabaseServer
from nomad_stateful.components.database_group import DatabaseGroup
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.plan.inputs import THIS_STACK
from nomad_stateful.program.plan.later import Later, Source
from nomad_stateful.program.settings import Settings
from nomad_stateful.sdk import Provider

T = TypeVar("T")


class Options(TypedDict, total=False):
    """Further options of a component."""

    depends_on: Sequence[pulumi.Resource]
    aliases: Sequence[pulumi.Alias]


class Values:
    """What stands for the values that exist later: added as the components that have them are made."""

    def __init__(self, settings: Settings, environment: Environment) -> None:
        self.environment = environment
        self.owner: Owner | None = None
        if environment.claimant:
            self.owner = {"stack": environment.claimant, "expects": dict(environment.expects)}
        self._known: dict[tuple[Source, str], Any] = {
            ("region", ""): environment.region,
            ("account_id", ""): environment.account_id,
            ("partition", ""): environment.partition,
        }
        self._known |= {("secret", path): pulumi.Output.secret(text) for path, text in _secrets(settings).items()}

    @cached_property
    def provider(self) -> Provider:
        """The provider nomad-csi in the stack's account."""
        return Provider(
            "nomad-csi",
            aws_region=self.environment.region,
            aws_account_id=self.environment.account_id,
            aws_config=self.environment.aws_config or None,
        )

    def options(self, **options: Unpack[Options]) -> pulumi.ResourceOptions:
        """Returns the options of a component whose resources are in the stack's account."""
        return pulumi.ResourceOptions(providers=[self.provider], **options)

    def add_plugin(self, plugin_id: str, plugin: CsiPlugin, zones: list[str]) -> None:
        """Adds what a volume of each zone waits for, and of one without a zone."""
        for zone in ("", *zones):
            health = plugin.healthy_in(zone)
            self._known["plugin_id", f"{plugin_id}/{zone}"] = health.plugin_id
            self._known["topology_key", f"{plugin_id}/{zone}"] = health.topology_key

    def add_storage(self, volumes: ZonalVolumes) -> None:
        """Adds what the registrations of EBS volumes need of them."""
        for name, storage_id in volumes.volume_ids.items():
            self._known["storage_id", name] = storage_id
            self._known["storage_restart_id", name] = volumes.restart_ids[name]

    def add_volume(self, volume_id: str, registered: RegisteredCsiVolume) -> None:
        """Adds what a registered volume's consumers need of it."""
        self._known["volume_id", volume_id] = registered.volume_id
        self._known["external_id", volume_id] = registered.external_id
        self._known["registration_id", volume_id] = registered.registration_id
        self._known["restart_id", volume_id] = registered.restart_id

    def add_database(self, server: DatabaseServer | DatabaseGroup, accounts: list[str]) -> None:
        """Adds the passwords of the server's accounts."""
        self._known["root_password", ""] = server.password
        for account in accounts:
            self._known["account_password", account] = server.account_passwords[account]

    def add_bucket(self, name: str, bucket: pulumi.Input[str]) -> None:
        """Adds a bucket that the stack makes."""
        self._known["bucket", name] = bucket

    def into(self, inputs: T) -> T:
        """Returns a component's inputs with the values in them."""
        whole: T = self._value(inputs)
        return whole

    def _value(self, value: Any) -> Any:
        if isinstance(value, Later):
            return self._known[value.source, value.of]
        if value == THIS_STACK:
            return self.owner
        if isinstance(value, dict):
            known = {key: self._value(item) for key, item in value.items()}
            # As a whole: the state hides each one's name, too.
            return pulumi.Output.secret(known) if _are_secrets(value) else known
        return [self._value(item) for item in value] if isinstance(value, list) else value


def _are_secrets(value: dict[str, Any]) -> bool:
    sources = {item.source if isinstance(item, Later) else "" for item in value.values()}
    return sources == {"secret"}


def _secrets(settings: Settings) -> dict[str, str]:
    """Returns the secrets that components take, by the path of the setting."""
    secrets = {f"plugins.{one.id}.config": one.config for one in settings.plugins if one.config is not None}
    for consumer in settings.consumers:
        secrets |= {f"consumers.{consumer.name}.secrets.{name}": text for name, text in consumer.secrets.items()}
    for volume in settings.volumes:
        secrets |= {f"volumes.{volume.name}.secrets.{name}": text for name, text in volume.secrets.items()}
    database = settings.database
    if database is not None and database.tls_certificate is not None:
        secrets[f"{database.kind.name}.tlsCertificate.key"] = database.tls_certificate.key
    return secrets
