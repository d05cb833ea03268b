"""Settings of the EBS CSI driver."""

from typing import Literal

from pydantic import Field, model_validator

from drivers.ebs import EBS
from settings.errors import Refusal
from settings.types import Duration, Identifier, PlainText, Section


class Ebs(Section):
    """The EBS CSI driver."""

    plugin_id: Identifier = Field("aws-ebs0", description="Id under which Nomad knows the plugin.")
    version: str = Field(
        EBS.default_version,
        pattern=r"^v\d+\.\d+\.\d+$",
        description="Pinned version of the driver; decides which arguments it is given.",
        json_schema_extra={"rule": "must be a released version, such as v1.48.0"},
    )
    image: PlainText = Field(EBS.image, description="Image repository, without a tag (docker only).")
    task_driver: Literal["docker", "raw_exec"] = Field(
        "docker", description="How Nomad runs the driver: docker or raw_exec."
    )
    command: PlainText = Field(
        "aws-ebs-csi-driver",
        description="Program to run when `taskDriver` is raw_exec: a name on the clients' PATH or a path.",
    )
    controller_count: int = Field(2, ge=1, le=9, description="Controllers, spread over the clients.")
    log_level: int = Field(2, ge=0, le=10, description="Verbosity of the driver's log (`--v`).")
    mount_dir: str = Field("/csi", pattern=r"^/[\w./-]+$", description="Where the plugin's socket is inside its task.")
    stage_publish_base_dir: PlainText = Field(
        "",
        description="Where the plugin stages and publishes volumes; empty leaves it to Nomad. Not inside `mountDir`.",
    )
    health_timeout: Duration = Field("30s", description="How long Nomad waits before it restarts an unhealthy plugin.")
    volume_attach_limit: int | None = Field(
        None, ge=1, le=128, description="Volumes a client may have attached (`--volume-attach-limit`)."
    )
    reserved_volume_attachments: int | None = Field(
        None, ge=0, le=128, description="Attachments kept free for the system (`--reserved-volume-attachments`)."
    )
    extra_tags: dict[PlainText, PlainText] = Field(default={}, description="Tags the driver puts on what it creates.")
    extra_args: list[PlainText] = Field(default=[], description="Further arguments for controller and node plugin.")
    env: dict[PlainText, PlainText] = Field(
        default={}, description="Environment of controller and node plugin, such as AWS_REGION."
    )
    cpu_mhz: int = Field(100, ge=20, description="CPU of each plugin task, in MHz.")
    memory_mib: int = Field(256, ge=32, description="Memory of each plugin task, in MiB.")
    timeout_s: int = Field(300, ge=10, description="How long `up` waits for the plugin to be healthy, in seconds.")

    @model_validator(mode="after")
    def _check(self) -> "Ebs":
        if self.volume_attach_limit is not None and self.reserved_volume_attachments is not None:
            raise Refusal(
                "reservedVolumeAttachments",
                self.reserved_volume_attachments,
                "the driver takes this or volumeAttachLimit, not both",
                "remove one of the two",
            )
        base, mount = self.stage_publish_base_dir, self.mount_dir.rstrip("/")
        if base and (not base.startswith("/") or f"{base.rstrip('/')}/".startswith(f"{mount}/")):
            raise Refusal(
                "stagePublishBaseDir",
                base,
                "must be an absolute path outside mountDir",
                "leave it out, or name another folder such as /local/csi",
            )
        return self
