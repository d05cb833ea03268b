"""The stack's configuration: the only reader of Pulumi's config and the only home of defaults.

Every problem is reported at once, before any resource is created, as key, value, rule and remedy.
"""

from collections import Counter
from typing import Any, get_args

import pulumi
from pulumi.runtime import config as pulumi_config
from pydantic import Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from settings.ebs import Ebs
from settings.errors import Problem, Refusal, SettingsError, problems_of
from settings.mysql import Mysql
from settings.placement import Placement
from settings.types import Section
from settings.volume import Volume

__all__ = ["Ebs", "Mysql", "Placement", "Problem", "Settings", "SettingsError", "Volume", "load"]

PROJECT = "nomad-stateful"


class Settings(Section):
    """Everything a stack configures."""

    client_role: str = Field(
        pattern=r"^[\w+=,.@-]{1,64}$",
        description="IAM role of the Nomad clients' instance profile; the driver's policy is attached to it.",
        json_schema_extra={"rule": "must be the name of an IAM role"},
    )
    placement: Placement = Field(default=Placement(), description="Where the jobs run.")
    ebs: Ebs = Field(default=Ebs(), description="The EBS CSI driver.")
    volumes: list[Volume] = Field(min_length=1, description="The EBS volumes, each in one availability zone.")
    mysql: Mysql = Field(description="The MySQL server and the volume it stores its data on.")

    @model_validator(mode="after")
    def _check(self) -> "Settings":
        names = [volume.name for volume in self.volumes]
        for name, count in Counter(names).items():
            if count > 1:
                raise Refusal(
                    f"volumes.{name}.name",
                    name,
                    f"{count} volumes have this name",
                    "give each volume a name of its own",
                )
        if self.mysql.volume not in names:
            raise Refusal(
                "mysql.volume", self.mysql.volume, "there is no such volume", f"use one of {', '.join(names)}"
            )
        volume = self.volume(self.mysql.volume)
        if (volume.access_mode, volume.attachment_mode) != ("single-node-writer", "file-system"):
            raise Refusal(
                "mysql.volume",
                volume.name,
                f"MySQL writes files, but the volume is {volume.access_mode} and {volume.attachment_mode}",
                f"set volumes.{volume.name}.accessMode to single-node-writer and attachmentMode to file-system",
            )
        return self

    def volume(self, name: str) -> Volume:
        """The volume of that name."""
        return next(volume for volume in self.volumes if volume.name == name)

    @property
    def zones(self) -> list[str]:
        """Zones that hold a volume, sorted."""
        return sorted({volume.zone for volume in self.volumes})


def load() -> Settings:
    """The stack's settings; raises SettingsError naming every refused key."""
    return parse(_stack_config())


def parse(config: dict[str, Any]) -> Settings:
    """Settings from plain values by their keys in the configuration; raises SettingsError."""
    try:
        return Settings.model_validate(config)
    except ValidationError as error:
        raise SettingsError(problems_of(error, config, _own_rules(Settings))) from None


def _stack_config() -> dict[str, Any]:
    config = pulumi.Config(PROJECT)
    prefix = f"{PROJECT}:"
    keys = [key.removeprefix(prefix) for key in pulumi_config.CONFIG.get() if key.startswith(prefix)]
    return {key: _value(config, key, Settings) for key in keys}


def _value(config: pulumi.Config, key: str, model: type[Section]) -> Any:
    declared = {field.alias: field for field in model.model_fields.values()}.get(key)
    return config.get(key) if declared is None or declared.annotation is str else config.get_object(key)


def _own_rules(model: type[Section]) -> dict[str, str]:
    """The wording of each field's own rule, by key."""
    rules: dict[str, str] = {}
    for field in model.model_fields.values():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and "rule" in extra:
            rules[str(field.alias)] = str(extra["rule"])
        for section in sections_of(field):
            rules.update(_own_rules(section))
    return rules


def sections_of(field: FieldInfo) -> list[type[Section]]:
    """The groups of settings a field holds."""
    candidates = [field.annotation, *get_args(field.annotation)]
    return [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Section)]
