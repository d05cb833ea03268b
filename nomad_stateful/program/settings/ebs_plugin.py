"""Rules for a plugin of the EBS driver: nothing that would end it at start, or have EC2 refuse what it makes."""

import re
from typing import Protocol

from nomad_stateful.drivers import ebs, ebs_flags
from nomad_stateful.drivers.model import parse_version
from nomad_stateful.program.settings import tags
from nomad_stateful.program.settings.errors import Refusal


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
    tags.check("extraTags", plugin.extra_tags, ebs.RESERVED_TAGS, ebs.RESERVED_TAG_PREFIXES)


def _check_argument(key: str, argument: str, version: str) -> None:
    flag, (_, given, value) = ebs_flags.flag_of(argument), argument.partition("=")
    known = ebs_flags.COMMON | ebs_flags.CONTROLLER_ONLY | ebs_flags.NODE_ONLY
    if flag not in known:
        if parse_version(version) <= ebs_flags.KNOWN_UP_TO:
            rule = f"{version} of the driver has no such flag and would exit at start"
            raise Refusal(key, argument, rule, "remove it, or correct its spelling")
        return
    if flag in ebs_flags.SWITCHES:
        if given and value not in ("true", "false"):
            raise Refusal(key, argument, "must be true or false, or the driver exits at start", f"write --{flag}=true")
    elif not value or (flag in ebs_flags.DURATIONS and not re.fullmatch(r"([0-9]{1,6}(ms|s|m|h))+", value)):
        kind = "a duration such as 5s" if flag in ebs_flags.DURATIONS else "a value"
        raise Refusal(key, argument, f"this flag has {kind}, or the driver exits at start", f"write --{flag}=VALUE")
