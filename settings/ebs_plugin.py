"""Rules for a plugin of the EBS driver: nothing that would end it at start, or have EC2 refuse what it makes."""

from typing import Protocol

from drivers import ebs_flags
from drivers.model import parse_version
from settings.errors import Refusal


class EbsPlugin(Protocol):
    """What the rules look at."""

    @property
    def extra_args(self) -> list[str]:
        """Arguments as given."""

    @property
    def extra_tags(self) -> dict[str, str]:
        """Tags as given."""

    @property
    def pinned_version(self) -> str:
        """Version of the driver."""


def check(plugin: EbsPlugin) -> None:
    """Refuses arguments and tags that the driver, or EC2 for it, does not take."""
    for index, argument in enumerate(plugin.extra_args):
        _check_argument(f"extraArgs.{index}", argument, plugin.pinned_version)
    for key, value in plugin.extra_tags.items():
        _check_tag(key, value)


def _check_argument(key: str, argument: str, version: str) -> None:
    flag = ebs_flags.flag_of(argument)
    if not argument.startswith("--") or not flag:
        raise Refusal(key, argument, "must be one flag with its value", "write --flag=value")
    if flag in ebs_flags.SETTINGS:
        raise Refusal(key, argument, "a setting gives this flag", f"use {ebs_flags.SETTINGS[flag]}")
    if flag in {"metadata-sources", "version"}:
        raise Refusal(key, argument, "the program decides this flag", "remove it")
    known = ebs_flags.COMMON | ebs_flags.CONTROLLER_ONLY | ebs_flags.NODE_ONLY
    if flag not in known and parse_version(version) <= ebs_flags.KNOWN_UP_TO:
        raise Refusal(
            key,
            argument,
            f"{version} of the driver knows no such flag and would end at start",
            "remove it, or correct its spelling",
        )


def _check_tag(key: str, value: str) -> None:
    if key in ebs_flags.RESERVED_TAGS or key.startswith(ebs_flags.RESERVED_TAG_PREFIXES):
        raise Refusal(f"extraTags.{key}", value, "the driver and AWS keep this key for themselves", "use another key")
    if len(key) > 128 or len(value) > 256:
        raise Refusal(f"extraTags.{key}", value, "a tag has at most 128 characters, its value 256", "shorten it")
