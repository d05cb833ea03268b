"""Rules of one plugin: nothing that its driver, docker, Nomad or EC2 would refuse."""

from __future__ import annotations

import re
from collections import Counter
from posixpath import normpath
from typing import TYPE_CHECKING

from nomad_stateful.drivers import ebs, ebs_flags
from nomad_stateful.drivers.ebs_policy import CLONE_SINCE
from nomad_stateful.drivers.model import ENDPOINT_VARIABLE, NOMAD_ENDPOINT, parse_version
from nomad_stateful.program.settings import paths, tags, variable
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import is_pinned, is_repository

if TYPE_CHECKING:
    from nomad_stateful.program.settings.plugin import Plugin


OF_EXISTING = frozenset({"id", "driver", "existing", "controllers", "timeout_s"})
_FLAG = re.compile(r"--(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(=.*)?", re.DOTALL)
EBS_ONLY = ("volume_attach_limit", "reserved_volume_attachments", "extra_tags", "snapshots", "clones")


def check(plugin: Plugin) -> None:
    """Raises Refusal for a setting that the plugin cannot run with."""
    if plugin.existing:
        _check_existing(plugin)
        return
    parse_version(plugin.pinned_version)
    _check_image(plugin)
    _check_zones(plugin)
    _check_folders(plugin)
    _check_arguments(plugin)
    _check_environment(plugin)
    _check_what_the_driver_has(plugin)
    _check_config(plugin)
    if plugin.volume_attach_limit is not None and plugin.reserved_volume_attachments is not None:
        rule = "the driver takes this or volumeAttachLimit, not both"
        raise Refusal("reservedVolumeAttachments", plugin.reserved_volume_attachments, rule, "remove one of the two")


def _check_existing(plugin: Plugin) -> None:
    """What runs already is as it is."""
    for name in sorted(plugin.model_fields_set - OF_EXISTING):
        raise Refusal(
            str(type(plugin).model_fields[name].alias),
            "a text" if name in plugin.secret_fields else getattr(plugin, name),
            "is for plugins whose jobs are the stack's, and this one is existing",
            "remove it, or leave existing out to have the stack run the plugin",
        )
    _check_controllers(plugin)


def _check_controllers(plugin: Plugin) -> None:
    driver = plugin.known
    if plugin.controllers is not None and "controller" not in driver.roles:
        raise Refusal(
            "controllers", plugin.controllers, f"the {driver.name} driver has no controller jobs", "remove it"
        )


def _check_zones(plugin: Plugin) -> None:
    for zone, count in Counter(plugin.zones).items():
        if count > 1:
            raise Refusal("zones", zone, f"it is listed {count} times", "list it once")


def _check_image(plugin: Plugin) -> None:
    image = plugin.image
    if image is not None and not is_repository(image) and not is_pinned(image):
        raise Refusal(
            "image", image, "must be a repository, or pinned to a tag other than latest, or to a digest", "pin it"
        )


def _check_folders(plugin: Plugin) -> None:
    paths.check_plain("mountDir", plugin.mount_dir)
    paths.check_uncovered("mountDir", plugin.mount_dir, (*paths.NOMAD_FOLDERS, "/dev", "/proc", "/sys"))
    _check_endpoint(plugin)
    base = plugin.stage_publish_base_dir
    if base and (not base.startswith("/") or ".." in base.split("/") or paths.is_below(base, plugin.mount_dir)):
        rule = "must be an absolute path outside mountDir"
        raise Refusal("stagePublishBaseDir", base, rule, "leave it out, or name another folder such as /local/csi")
    targets: list[str] = []
    for index, mount in enumerate(plugin.host_mounts or []):
        key = f"hostMounts.{index}"
        paths.check_plain(f"{key}.source", mount.source)
        paths.check_plain(f"{key}.target", mount.target)
        paths.check_uncovered(f"{key}.target", mount.target, (*paths.NOMAD_FOLDERS, plugin.mount_dir))
        if normpath(mount.target) in targets:
            rule = "another folder of the client is seen there"
            raise Refusal(f"{key}.target", mount.target, rule, "give each a path of its own")
        targets.append(normpath(mount.target))


def _check_endpoint(plugin: Plugin) -> None:
    """The socket is where Nomad looks for it; a driver's working directory is the root."""
    socket = f"{plugin.mount_dir.rstrip('/')}/csi.sock"
    given = plugin.endpoint.removeprefix("unix:").lstrip("/")
    if plugin.endpoint != NOMAD_ENDPOINT and given != socket.lstrip("/"):
        rule = f"Nomad looks for the driver at csi.sock in mountDir, which is {plugin.mount_dir}"
        raise Refusal("endpoint", plugin.endpoint, rule, f"leave it out, or use unix://{socket}")


def _check_what_the_driver_has(plugin: Plugin) -> None:
    driver = plugin.known
    _check_controllers(plugin)
    for key, value in plugin.extra_tags.items():
        if "," in key + value or "=" in key:
            rule = "a comma, or '=' in the key, would split the tag"
            raise Refusal(f"extraTags.{key}", value, rule, "remove that character")
    if driver.name == "ebs" and plugin.clones and parse_version(plugin.pinned_version) < CLONE_SINCE:
        rule = f"{plugin.pinned_version} of the driver does not clone volumes"
        raise Refusal("clones", "true", rule, "pin version v1.51.0 or a later one, or remove it")
    if driver.name == "ebs":
        _check_ebs(plugin)
    for name in EBS_ONLY:
        if driver.name != "ebs" and getattr(plugin, name):
            key = type(plugin).model_fields[name].alias or name
            raise Refusal(key, getattr(plugin, name), f"the {driver.name} driver has no such option", "remove it")


def _check_config(plugin: Plugin) -> None:
    driver = plugin.known
    if plugin.config is not None and not driver.config_file:
        raise Refusal("config", "a text", f"the {driver.name} driver reads no configuration file", "remove it")
    if plugin.config is None and driver.config_file:
        rule = f"the {driver.name} driver needs its configuration file"
        raise Refusal("config", None, rule, "set it with pulumi config set --secret --path")
    if plugin.config is not None:
        variable.check("config", {"driver_config": plugin.config}, "keep less in it")
    if plugin.config is not None and driver.config_problem is not None:
        problem = driver.config_problem(plugin.config)
        if problem is not None:
            raise Refusal("config", "a text", problem.rule, problem.remedy)


def _check_arguments(plugin: Plugin) -> None:
    """Raises Refusal for an argument that is not a flag with its value, or one of a flag that the program gives."""
    own = {_folded(flag): setting for flag, setting in plugin.known.own_flags.items()}
    for index, argument in enumerate(plugin.extra_args):
        key, flag = f"extraArgs.{index}", _FLAG.fullmatch(argument)
        if flag is None:
            raise Refusal(key, argument, "must be one flag with its value", "write --flag=value")
        # democratic-csi takes --csiName, --no-csi-name and --csi-name.x for --csi-name too.
        name = flag["name"].partition(".")[0]
        decided = next((own[_folded(one)] for one in (name, name.removeprefix("no-")) if _folded(one) in own), None)
        if decided:
            raise Refusal(key, argument, "a setting sets this flag", f"use {decided}")
        if decided is not None:
            raise Refusal(key, argument, "the program sets this flag", "remove it")


def _check_environment(plugin: Plugin) -> None:
    """Raises Refusal for a variable by which Nomad or the program tell the driver something."""
    own = {**ENDPOINT_VARIABLE, **plugin.known.own_env}
    for name, value in plugin.env.items():
        if name in own:
            setting = own[name]
            remedy = f"remove it, and set {setting}" if setting else "remove it"
            raise Refusal(f"env.{name}", value, "Nomad or the program sets this variable", remedy)


def _folded(flag: str) -> str:
    return re.sub("[-_]", "", flag).lower()


def _check_ebs(plugin: Plugin) -> None:
    """Refuses arguments and tags that the driver, or EC2 for it, does not take."""
    for index, argument in enumerate(plugin.extra_args):
        _check_ebs_argument(f"extraArgs.{index}", argument, plugin.pinned_version)
    tags.check("extraTags", plugin.extra_tags, ebs.RESERVED_TAGS, ebs.RESERVED_TAG_PREFIXES)


def _check_ebs_argument(key: str, argument: str, version: str) -> None:
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
