"""Settings of a CSI plugin."""

from collections import Counter
from posixpath import normpath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.ebs_policy import CLONE_SINCE
from nomad_stateful.drivers.model import NOMAD_ENDPOINT, CsiDriver, parse_version
from program.settings import driver_arguments, ebs_plugin, paths, variable
from program.settings.errors import Refusal
from program.settings.placement import Constraint
from program.settings.types import (
    DAY_S,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    Duration,
    EnvName,
    Identifier,
    PlainText,
    Section,
    Zone,
    is_pinned,
    is_repository,
)

EBS_ONLY = ("volume_attach_limit", "reserved_volume_attachments", "extra_tags", "snapshots", "clones")


def _driver(name: str) -> str:
    if name in DRIVERS:
        return name
    raise Refusal(
        "",
        name,
        "there is no such driver",
        f"use one of {', '.join(sorted(DRIVERS))}, or add it (docs/add-a-driver.md)",
    )


DriverName = Annotated[str, AfterValidator(_driver)]


class JobIds(Section):
    """Ids of a plugin's jobs."""

    controller: Identifier | None = Field(
        None, description="Id of the controller's job; `plugin-ID-controller` if left out."
    )
    node: Identifier | None = Field(
        None, description="Id of the node's or monolith's job; `plugin-ID-node` if left out."
    )


class HostMount(Section):
    """A folder of the client that the plugin's container sees."""

    source: str = Field(
        pattern=r"^/[A-Za-z0-9_./-]*$",
        description="The client's folder.",
        json_schema_extra={"rule": "must be an absolute path"},
    )
    target: str = Field(
        pattern=r"^/[A-Za-z0-9_./-]*$",
        description="Where the container sees it.",
        json_schema_extra={"rule": "must be an absolute path"},
    )


class Plugin(Section):
    """A CSI driver and how it runs."""

    secret_fields = frozenset({"config"})

    id: Identifier = Field(description="Id under which Nomad knows the plugin.")
    driver: DriverName = Field("ebs", description=f"The CSI driver: {', '.join(sorted(DRIVERS))}.")
    version: str | None = Field(
        None,
        pattern=r"^v\d+\.\d+\.\d+$",
        description="Pinned version of the driver; decides which arguments it is given. Each driver has a default.",
        json_schema_extra={"rule": "must be a released version, such as v1.48.0"},
    )
    image: PlainText | None = Field(
        None, description="Image repository, to which the version is added, or a pinned image (docker only)."
    )
    task_driver: Literal["docker", "raw_exec"] = Field(
        "docker", description="How Nomad runs the driver: docker or raw_exec."
    )
    command: PlainText | None = Field(
        None, description="Program to run when `taskDriver` is raw_exec: a name on the clients' PATH or a path."
    )
    controllers: int | None = Field(
        None,
        ge=1,
        le=9,
        description="Controllers, spread over the clients; only for a driver that has them (2 if left out).",
    )
    zones: list[Zone] = Field(
        default=[],
        description="Zones whose clients run the plugin; all if left out. For one plugin id in each zone.",
    )
    constraints: list[Constraint] = Field(default=[], description="Further constraints of the plugin's jobs.")
    network_mode: str | None = Field(
        None,
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*(:[A-Za-z0-9][A-Za-z0-9_.-]*)?)?$",
        description="Docker network mode of the node plugin; the driver's own if left out, empty for Docker's.",
        json_schema_extra={"rule": "must be host, bridge, none, container:NAME or the name of a network"},
    )
    ipc_mode: str | None = Field(
        None,
        pattern=r"^(none|private|shareable|host|container:[A-Za-z0-9][A-Za-z0-9_.-]*)?$",
        description="Docker IPC mode of the node plugin; the driver's own if left out, empty for Docker's.",
        json_schema_extra={"rule": "must be none, private, shareable, host or container:NAME"},
    )
    host_mounts: list[HostMount] | None = Field(
        None,
        description="Folders of the client that the node plugin sees; the driver's own if left out. With docker they "
        "must be there already, and the client's docker plugin must have `volumes { enabled = true }`.",
    )
    job_ids: JobIds = Field(default_factory=JobIds, description="Ids of the plugin's jobs.")
    log_level: int = Field(2, ge=0, le=10, description="Verbosity of the driver's log (`--v`).")
    endpoint: PlainText = Field(NOMAD_ENDPOINT, description="Where the driver listens; Nomad's own choice if left out.")
    mount_dir: str = Field(
        "/csi", pattern=r"^/[A-Za-z0-9_./-]+$", description="Where the plugin's socket is inside its task."
    )
    stage_publish_base_dir: PlainText = Field(
        "",
        description="Where the plugin stages and publishes volumes; empty leaves it to Nomad. Not inside `mountDir`.",
    )
    health_timeout: Duration = Field("30s", description="How long Nomad waits before it restarts an unhealthy plugin.")
    config: str | None = Field(
        None,
        description="Text of the configuration file (democratic-csi), in which what `zfs-generic-nfs` and `nfs-client` "
        "need is looked for. Set it with `pulumi config set --secret --path`.",
    )
    volume_attach_limit: int | None = Field(
        None, ge=1, le=128, description="Volumes a client may have attached (`--volume-attach-limit`; ebs only)."
    )
    reserved_volume_attachments: int | None = Field(
        None,
        ge=0,
        le=128,
        description="Attachments kept free for the system (`--reserved-volume-attachments`; ebs only).",
    )
    snapshots: bool = Field(
        False, description="Let the driver take and delete snapshots through Nomad: more permissions (ebs only)."
    )
    clones: bool = Field(
        False, description="Let the driver copy volumes through Nomad: more permissions (ebs since v1.51.0 only)."
    )
    extra_tags: dict[PlainText, PlainText] = Field(
        default={}, description="Tags the driver puts on what it creates (ebs only)."
    )
    extra_args: list[PlainText] = Field(
        default=[],
        description="Further arguments for every role of the driver that knows them, each as `--flag=value`. Refused "
        "are flags that the program gives.",
    )
    env: dict[EnvName, PlainText] = Field(default={}, description="Environment of every role of the driver.")
    cpu_mhz: int = Field(100, ge=20, le=MOST_CPU_MHZ, description="CPU of each plugin task, in MHz.")
    memory_mib: int = Field(256, ge=32, le=MOST_MEMORY_MIB, description="Memory of each plugin task, in MiB.")
    timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `up` waits for the plugin to be healthy, in seconds."
    )

    @property
    def known(self) -> CsiDriver:
        """What is known about the driver."""
        return DRIVERS[self.driver]

    @property
    def pinned_version(self) -> str:
        """The version that runs."""
        return self.version or self.known.default_version

    @property
    def pinned_image(self) -> str:
        """The image with its tag."""
        image = self.image or self.known.image
        return image if is_pinned(image) else f"{image}:{self.pinned_version}"

    @property
    def controller_count(self) -> int:
        """Controllers that have to be healthy."""
        return self.known.controllers if self.controllers is None else self.controllers

    @model_validator(mode="after")
    def _check(self) -> "Plugin":
        parse_version(self.pinned_version)
        _check_image(self)
        _check_zones(self)
        _check_folders(self)
        driver_arguments.check_arguments(self.extra_args, self.known)
        driver_arguments.check_environment(self.env, self.known)
        _check_what_the_driver_has(self)
        _check_config(self)
        if self.volume_attach_limit is not None and self.reserved_volume_attachments is not None:
            raise Refusal(
                "reservedVolumeAttachments",
                self.reserved_volume_attachments,
                "the driver takes this or volumeAttachLimit, not both",
                "remove one of the two",
            )
        return self


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
        raise Refusal(
            "stagePublishBaseDir",
            base,
            "must be an absolute path outside mountDir",
            "leave it out, or name another folder such as /local/csi",
        )
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
        raise Refusal(
            "endpoint",
            plugin.endpoint,
            f"Nomad looks for the driver at csi.sock in mountDir, which is {plugin.mount_dir}",
            f"leave it out, or use unix://{socket}",
        )


def _check_what_the_driver_has(plugin: Plugin) -> None:
    driver = plugin.known
    if plugin.controllers is not None and "controller" not in driver.roles:
        raise Refusal(
            "controllers", plugin.controllers, f"the {driver.name} driver has no controller jobs", "remove it"
        )
    for key, value in plugin.extra_tags.items():
        if "," in key + value or "=" in key:
            raise Refusal(
                f"extraTags.{key}",
                value,
                "the driver takes a tag for several at a comma, and its key to end at the first =",
                "write it without",
            )
    if driver.name == "ebs" and plugin.clones and parse_version(plugin.pinned_version) < CLONE_SINCE:
        raise Refusal(
            "clones",
            "true",
            f"{plugin.pinned_version} of the driver does not clone volumes",
            "pin version v1.51.0 or a later one, or remove it",
        )
    if driver.name == "ebs":
        ebs_plugin.check(plugin)
    for name in EBS_ONLY:
        if driver.name != "ebs" and getattr(plugin, name):
            key = Plugin.model_fields[name].alias or name
            raise Refusal(key, getattr(plugin, name), f"the {driver.name} driver has no such option", "remove it")


def _check_config(plugin: Plugin) -> None:
    driver = plugin.known
    if plugin.config is not None and not driver.config_file:
        raise Refusal("config", "a text", f"the {driver.name} driver reads no configuration file", "remove it")
    if plugin.config is None and driver.config_file:
        raise Refusal(
            "config",
            None,
            f"the {driver.name} driver needs its configuration file",
            "set it with pulumi config set --secret --path",
        )
    if plugin.config is not None:
        variable.check("config", {"driver_config": plugin.config}, "keep less in it")
    if plugin.config is not None and driver.config_problem is not None:
        problem = driver.config_problem(plugin.config)
        if problem is not None:
            raise Refusal("config", "a text", problem.rule, problem.remedy)
