"""Settings of a CSI plugin."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.model import NOMAD_ENDPOINT, CsiDriver
from nomad_stateful.program.settings import plugin_rules
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.placement import Constraint
from nomad_stateful.program.settings.types import (
    DAY_S,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    Duration,
    Earlier,
    EnvName,
    Identifier,
    PlainText,
    Section,
    Zone,
    in_docker,
    is_pinned,
)


def _driver(name: str) -> str:
    if name in DRIVERS:
        return name
    rule = "there is no such driver"
    raise Refusal("", name, rule, f"use one of {', '.join(sorted(DRIVERS))}, or add it (docs/add-a-driver.md)")


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
    private_fields = frozenset({"env"})
    earlier: ClassVar = {
        "taskDriver": in_docker(
            "drivers run", "remove it, and command and stagePublishBaseDir where they were for raw_exec"
        ),
        "command": Earlier("the driver is the program of its image", "remove it; image names another one"),
    }

    id: Identifier = Field(description="Id under which Nomad knows the plugin.")
    driver: DriverName = Field("ebs", description=f"The CSI driver: {', '.join(sorted(DRIVERS))}.")
    existing: bool = Field(
        False,
        description="The plugin already runs outside the stack, which makes no job and no policy for it and waits "
        "for its health. Only `id`, `driver`, `controllers` and `timeoutS` apply.",
    )
    version: str | None = Field(
        None,
        pattern=r"^v\d+\.\d+\.\d+$",
        description="Pinned version of the driver; decides which arguments it is given. Each driver has a default.",
        json_schema_extra={"rule": "must be a released version, such as v1.48.0"},
    )
    image: PlainText | None = Field(
        None, description="Image repository, to which the version is added, or a pinned image."
    )
    task_driver: Literal["docker"] = Field("docker", description="Nomad's task driver: only docker.")
    controllers: int | None = Field(
        None,
        ge=1,
        le=9,
        description="Controllers, spread over the clients; only for a driver that has them (2 if left out).",
    )
    zones: list[Zone] = Field(
        default=[],
        description="Zones whose clients run the plugin; all if left out. For stacks with one plugin per zone.",
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
        description="Folders of the client that the node plugin sees; the driver's own if left out. They must be there "
        "already, and the client's docker plugin must have `volumes { enabled = true }`.",
    )
    job_ids: JobIds = Field(default_factory=JobIds, description="Ids of the plugin's jobs.")
    log_level: int = Field(2, ge=0, le=10, description="Verbosity of the driver's log (`--v`).")
    endpoint: PlainText = Field(NOMAD_ENDPOINT, description="Where the driver listens; Nomad's own choice if left out.")
    mount_dir: str = Field(
        "/csi", pattern=r"^/[A-Za-z0-9_./-]+$", description="Folder of the plugin's socket in its task."
    )
    stage_publish_base_dir: PlainText = Field(
        "",
        description="Where the plugin stages and publishes volumes; empty leaves it to Nomad. Not inside `mountDir`.",
    )
    health_timeout: Duration = Field("30s", description="How long Nomad waits before it restarts an unhealthy plugin.")
    config: str | None = Field(
        None,
        description="Configuration file of democratic-csi, checked for what `zfs-generic-nfs` and `nfs-client` need. "
        "Set it with `pulumi config set --secret --path`.",
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
        description="Further arguments for every role of the driver that knows them, each as `--flag=value`. Flags "
        "that the program sets are refused.",
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
        plugin_rules.check(self)
        return self
