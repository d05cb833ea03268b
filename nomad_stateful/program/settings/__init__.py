"""The stack's configuration: the only home of defaults.

Every problem is reported at once, before any resource is created, as key, value, rule and remedy.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Databases
from nomad_stateful.program.settings import consumer_rules, driver_policy, identity_rules, rules, sections
from nomad_stateful.program.settings.consumer import Consumer
from nomad_stateful.program.settings.database import DatabaseSection
from nomad_stateful.program.settings.errors import Problem, Refusal, SettingsError, half_characters, problems_of
from nomad_stateful.program.settings.failover import Failover
from nomad_stateful.program.settings.metrics import Metrics, check_metrics, switch
from nomad_stateful.program.settings.placement import Placement
from nomad_stateful.program.settings.plugin import Plugin
from nomad_stateful.program.settings.types import Identifier, PinnedImage, PlainText, Section
from nomad_stateful.program.settings.volume import Volume

__all__ = [
    "Consumer",
    "DatabaseSection",
    "Metrics",
    "Placement",
    "Plugin",
    "Problem",
    "Settings",
    "SettingsError",
    "Volume",
]

PROJECT = "nomad-stateful"


class Settings(Section):
    """Everything a stack configures, beside its database: `model_of` adds a section for each."""

    client_role: str = Field(
        pattern=r"^[A-Za-z0-9_+=,.@-]{1,64}$",
        description="IAM role of the Nomad clients' instance profile; the driver's policy is attached to it.",
        json_schema_extra={"rule": "must be the name of an IAM role"},
    )
    client_tags: dict[PlainText, PlainText] = Field(
        default={},
        description="Tags of the clients' instances (values may hold `*`), by which `clientRole` is found where it "
        "is not set, and the zones of new volumes of a set without `zones`.",
    )
    placement: Placement = Field(default=Placement(), description="Where the jobs run.")
    agent_image: PinnedImage | None = Field(
        None,
        description="Image of the agent (docs/agent.md), which copies dumps and binary logs to S3, and watches for "
        "`failover`.",
    )
    plugins: list[Plugin] = Field(min_length=1, description="The CSI plugins, one for each driver.")
    volumes: list[Volume] = Field(min_length=1, description="The volumes, or sets of volumes.")
    consumers: list[Consumer] = Field(default=[], description="Other programs on volumes.")
    metrics: Annotated[Metrics | None, BeforeValidator(switch)] = Field(
        None, description="Metrics for Prometheus: true, or a section; none if left out."
    )
    failover: Failover | None = Field(
        None,
        description="A watch that starts a lost client's jobs elsewhere as soon as EC2 reports that its instance "
        "cannot write.",
    )
    adopt: list[Identifier] = Field(
        default=[],
        description="Ids of jobs and existing volumes in Nomad that the next `up` takes over. Leave it out afterwards.",
    )

    @model_validator(mode="after")
    def _check(self) -> "Settings":
        rules.check_names("plugins", "id", [plugin.id for plugin in self.plugins])
        rules.check_names("volumes", "name", [volume.name for volume in self.volumes])
        consumer_rules.check_renamed("volume", self.volumes)
        for volume in self.volumes:
            rules.check_volume(volume, self.plugins)
        driver_policy.check_size(self.plugins, self.volumes_of("ebs"))
        if self.failover is not None and not self.volumes_of("ebs"):
            remedy = "remove it: of other volumes nobody can say whether a lost client still writes to them"
            raise Refusal("failover", "set", "watches EBS volumes, and the stack has none", remedy)
        rules.check_one_database([section.kind.name for section in self._databases])
        database = self.database
        if database is not None:
            rules.check_database(database, self.volumes)
            consumer_rules.check_backup(database, self.volumes)
            rules.check_ports(database, self.consumers, self.metrics, self.placement.node_pool)
        for consumer in self.consumers:
            consumer_rules.check_consumer(consumer, self.volumes)
        check_metrics(self.metrics, database, self.plugins)
        rules.check_agent(self.agent_image, database, self.failover)
        identity_rules.check_jobs(self.jobs)
        identity_rules.check_adopted(self.adopt, self.jobs, self.volumes)
        identity_rules.check_external_ids(self.volumes, self.plugins)
        consumer_rules.check_renamed("consumer", self.consumers)
        consumer_rules.check_sharing(database, self.consumers, self.volumes)
        return self

    @property
    def database(self) -> DatabaseSection | None:
        """The section of the stack's database; None where it has none."""
        return next(iter(self._databases), None)

    @property
    def _databases(self) -> list[DatabaseSection]:
        values = [getattr(self, name) for name in type(self).model_fields]
        return [value for value in values if isinstance(value, DatabaseSection)]

    def volume(self, name: str) -> Volume:
        """Returns the volume of that name."""
        return next(volume for volume in self.volumes if volume.name == name)

    def stop_after_disconnect(self, consumer: Consumer) -> str:
        """Returns how long a client that is cut off lets a consumer run."""
        modes = {self.volume(mount.volume).access_mode for mount in consumer.mounts if not mount.read_only}
        single = any(mode.startswith("single-node") for mode in modes)
        return consumer.stopped_after(single_writer=single)

    def plugin_of(self, volume: Volume) -> Plugin:
        """Returns the plugin that mounts a volume."""
        return rules.plugin_of(volume, self.plugins)

    @property
    def jobs(self) -> list[tuple[str, str]]:
        """The setting and the id of every job."""
        return list(identity_rules.jobs(self.plugins, self.database, self.consumers, self.metrics, self.failover))

    def volumes_of(self, driver: str) -> list[Volume]:
        """Returns the volumes of a driver."""
        return [volume for volume in self.volumes if self.plugin_of(volume).driver == driver]

    @property
    def zones(self) -> list[str]:
        """Zones that hold a volume, sorted."""
        return sorted({member.zone for volume in self.volumes for member in volume.members if member.zone})

    def zones_of(self, plugin: Plugin) -> list[str]:
        """Returns the zones in which a plugin has to be healthy, sorted."""
        if not plugin.known.zonal:
            return sorted(plugin.zones)
        volumes = [volume for volume in self.volumes if self.plugin_of(volume).id == plugin.id]
        return sorted({member.zone for volume in volumes for member in volume.members if member.zone})


def model_of(databases: Databases) -> type[Settings]:
    """Returns the settings of stacks that may have one of these databases."""
    described = Settings.model_fields["metrics"].description
    measured = sections.switched(sections.metrics(databases.values())), Field(None, description=described)
    return create_model("Settings", __base__=Settings, metrics=measured, **sections.servers(databases.values()))


MODEL = model_of(DATABASES)


def parse(config: dict[str, Any]) -> Settings:
    """Returns settings from plain values by their keys in the configuration; raises SettingsError."""
    broken = list(half_characters(config, is_private))
    if broken:
        raise SettingsError(broken)
    try:
        return MODEL.model_validate(config)
    except ValidationError as error:
        raise SettingsError(problems_of(error, config, _own_rules(MODEL), is_private)) from None


def is_private(path: Sequence[str]) -> bool:
    """Returns whether a secret may stand at a path: in or below such a field, or in the place of its section."""
    model: type[Section] = MODEL
    within = False
    for part in path:
        # Others are the index or the name of an entry.
        for name, field in model.model_fields.items():
            if field.alias == part:
                if name in model.secret_fields | model.private_fields:
                    return True
                sections = sections_of(field)
                model, within = sections[0] if sections else model, not sections
                break
    return not within and _holds_private(model)


def secret_places(config: dict[str, Any], key: str) -> Iterator[tuple[str | int, ...]]:
    """Yields the paths below a key whose values are kept as secrets, or are public as certificates are."""
    field = next((field for field in MODEL.model_fields.values() if field.alias == key), None)
    for section in sections_of(field) if field else ():
        yield from _secrets_in(section, config[key], (key,))


def _secrets_in(model: type[Section], value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _secrets_in(model, entry, (*path, index))
        return
    for name, field in model.model_fields.items():
        alias = str(field.alias)
        if not isinstance(value, dict) or not value.get(alias):
            continue
        if name in model.secret_fields | model.public_fields:
            yield (*path, alias)
        for section in sections_of(field):
            yield from _secrets_in(section, value[alias], (*path, alias))


def _holds_private(model: type[Section]) -> bool:
    inner = (section for field in model.model_fields.values() for section in sections_of(field))
    return bool(model.secret_fields | model.private_fields) or any(map(_holds_private, inner))


def _own_rules(model: type[Section], prefix: str = "") -> dict[str, str]:
    """Returns the wording of each field's own rule, by the path of its key."""
    rules: dict[str, str] = {}
    for field in model.model_fields.values():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and "rule" in extra:
            rules[f"{prefix}{field.alias}"] = str(extra["rule"])
        for section in sections_of(field):
            rules.update(_own_rules(section, f"{prefix}{field.alias}."))
    return rules


def sections_of(field: FieldInfo) -> list[type[Section]]:
    """Returns the groups of settings a field holds."""
    candidates = [field.annotation, *get_args(field.annotation)]
    return [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Section)]
