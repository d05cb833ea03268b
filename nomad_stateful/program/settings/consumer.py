"""Settings of a consumer: any program on volumes."""

from collections import Counter
from typing import Literal

from pydantic import Field, model_validator

from nomad_stateful.program.settings import paths, times, variable
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.placement import Constraint
from nomad_stateful.program.settings.types import (
    DAY_S,
    DISCONNECT_TIME,
    DISCONNECT_TIME_RULE,
    MOST_CPU_MHZ,
    MOST_MEMORY_MIB,
    MOST_RESTARTS,
    DisconnectTime,
    Duration,
    EnvName,
    Identifier,
    NodePool,
    PinnedImage,
    PlainText,
    Section,
    ServiceName,
)

LABEL = r"^[a-z][a-z0-9_]{0,30}$"


class Mount(Section):
    """A volume, and where the program sees it."""

    volume: Identifier = Field(description="Name of the volume, or of the set of volumes.")
    path: str = Field(
        pattern=r"^(/[A-Za-z0-9_.-]+)+$",
        description="Mount path in the task.",
        json_schema_extra={"rule": "must be an absolute path, such as /data"},
    )
    read_only: bool = Field(False, description="Mount it read-only.")
    per_alloc: bool = Field(False, description="Give each instance its own volume of a set.")


class Port(Section):
    """A port of the client."""

    label: str = Field(
        pattern=LABEL,
        description="Name of the port; the program finds it in `NOMAD_PORT_<label>`.",
        json_schema_extra={"rule": "must start with a letter; then letters, digits and _, all small"},
    )
    static: int = Field(0, ge=0, le=65535, description="Port on the client; 0 lets Nomad choose one.")
    to: int = Field(0, ge=0, le=65535, description="Port inside a container; 0 is the same.")


class File(Section):
    """A file of the task."""

    private_fields = frozenset({"text"})

    destination: str = Field(
        pattern=r"^(local|secrets)(/[A-Za-z0-9_.-]+)+$",
        description="Path in the task's folder: `local/...`, or `secrets/...` which is kept in memory.",
        json_schema_extra={"rule": "must start with local/ or secrets/"},
    )
    text: str = Field(
        min_length=1,
        description="Nomad template, which may show items of `secrets`.",
        json_schema_extra={"rule": "must have text: Nomad takes no template without"},
    )
    perms: str = Field(
        "0644",
        pattern=r"^0[0-7]{3}$",
        description="Permissions.",
        json_schema_extra={"rule": "must be four octal digits in quotes, such as '0644'"},
    )
    change_mode: Literal["restart", "noop"] = Field(
        "restart", description="When the template renders again: restart or noop."
    )


class Service(Section):
    """The service of each instance."""

    port: str = Field(
        pattern=LABEL, description="Label of its port.", json_schema_extra={"rule": "must be the label of a port"}
    )
    provider: Literal["nomad", "consul"] = Field("nomad", description="Service registry: nomad or consul.")
    check: Literal["tcp", "http"] = Field("tcp", description="Type of its check.")
    check_path: str = Field(
        "/",
        pattern=r"^/([A-Za-z0-9._~!$&'()*+,;=:@?-]([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$",
        description="Path of an http check.",
        json_schema_extra={"rule": "must be a path as in a URL, such as /health?full=1"},
    )
    check_interval: Duration = Field("5s", description="Pause between two checks.")
    check_timeout: Duration = Field("2s", description="How long one check may take.")

    @model_validator(mode="after")
    def _check(self) -> "Service":
        times.check_checks(self.check_interval, self.check_timeout)
        return self


class Consumer(Section):
    """A program on volumes."""

    secret_fields = frozenset({"secrets"})
    private_fields = frozenset({"args", "env"})

    name: ServiceName = Field(description="Name of the program; also the id of its job and the name of its service.")
    renamed_from: Identifier | None = Field(
        None,
        description="The name it had before, for the `up` that renames it: the job of that name is stopped and its "
        "volumes are released before this one starts. Leave it out afterwards.",
    )
    count: int = Field(1, ge=1, le=1000, description="Instances.")
    canaries: int = Field(
        0, ge=0, le=1000, description="Instances of a new version that run beside the old ones (shared volumes only)."
    )
    mounts: list[Mount] = Field(min_length=1, description="The volumes.")
    task_driver: Literal["docker", "exec"] = Field("docker", description="Nomad's task driver: docker or exec.")
    image: PinnedImage | None = Field(None, description="Image with a pinned tag or digest (docker only).")
    command: PlainText = Field("", description="Program; with docker the image's own if left out.")
    args: list[PlainText] = Field(default=[], description="Arguments.")
    env: dict[EnvName, str] = Field(default={}, description="Environment.")
    user: PlainText = Field("", description="User the task starts as; empty leaves it to the task driver.")
    ports: list[Port] = Field(default=[], description="Ports.")
    service: Service | None = Field(None, description="The service of each instance, with its check.")
    files: list[File] = Field(default=[], description="Files of the task.")
    secrets: dict[PlainText, str] = Field(
        default={},
        description="Items of the Nomad variable that only this job can read. "
        "Set them with `pulumi config set --secret --path`.",
    )
    constraints: list[Constraint] = Field(default=[], description="Constraints on the clients.")
    node_pool: NodePool | None = Field(None, description="Node pool; that of the other jobs if left out.")
    kill_signal: Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL"] | None = Field(
        None,
        description="Signal that stops the program. Left out, docker sends the image's own (SIGTERM if it names "
        "none), and exec SIGTERM. Set it only where the image's own is wrong: with it Nomad fails for minutes to "
        "stop a container that a reboot has ended.",
    )
    kill_timeout: Duration = Field(
        "30s", description="Time the program has to end; a client cuts it to its `max_kill_timeout`, 30s by default."
    )
    stop_after_disconnect: DisconnectTime | None = Field(
        None,
        description="How long a client that reaches no Nomad server lets it run; then it stops it and unmounts. When a "
        f"client is lost, Nomad waits that long and `killTimeout` before it starts another. {DISCONNECT_TIME} if left "
        "out, never where many may write to every volume.",
        json_schema_extra={"rule": DISCONNECT_TIME_RULE},
    )
    restart_attempts: int = Field(
        10, ge=1, le=MOST_RESTARTS, description="Restarts on the same client within `restartInterval`."
    )
    restart_interval: Duration = Field("5m", description="Window in which restarts are counted.")
    restart_delay: Duration = Field("15s", description="Pause before a restart.")
    cpu_mhz: int = Field(100, ge=20, le=MOST_CPU_MHZ, description="CPU of an instance, in MHz.")
    memory_mib: int = Field(128, ge=16, le=MOST_MEMORY_MIB, description="Memory of an instance, in MiB.")
    release_timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `destroy` waits for a volume to be released, in seconds."
    )
    timeout_s: int = Field(
        300, ge=10, le=DAY_S, description="How long `up` waits for the instances to be healthy, in seconds."
    )

    def stopped_after(self, *, single_writer: bool) -> str:
        """Returns how long a client that is cut off lets it run: a single writer holds its volume until it ends."""
        return self.stop_after_disconnect or (DISCONNECT_TIME if single_writer else "never")

    @model_validator(mode="after")
    def _check(self) -> "Consumer":
        if self.task_driver == "docker" and self.image is None:
            raise Refusal("image", None, "docker runs an image", "set it, or set taskDriver to exec")
        if self.task_driver == "exec" and not self.command:
            raise Refusal("command", None, "exec runs a program of the client", "set it, or set taskDriver to docker")
        times.check_restart(self.restart_attempts, self.restart_interval, self.restart_delay)
        times.check_kill_timeout(self.kill_timeout, self.timeout_s)
        _check_paths(self)
        _check_ports(self)
        variable.check("secrets", self.secrets)
        labels = [port.label for port in self.ports]
        if self.service is not None and self.service.port not in labels:
            remedy = f"use one of {', '.join(labels)}" if labels else "add it to ports"
            raise Refusal("service.port", self.service.port, "there is no such port", remedy)
        return self


def _check_ports(consumer: Consumer) -> None:
    for label, count in Counter(port.label for port in consumer.ports).items():
        if count > 1:
            raise Refusal("ports", label, f"{count} ports have this label", "give each a label of its own")
    for static, count in Counter(port.static for port in consumer.ports if port.static).items():
        if count > 1:
            raise Refusal(
                "ports", static, f"{count} labels have this port of the client", "give each a port of its own"
            )


def _check_paths(consumer: Consumer) -> None:
    for index, mount in enumerate(consumer.mounts):
        paths.check_plain(f"mounts.{index}.path", mount.path)
        paths.check_uncovered(f"mounts.{index}.path", mount.path)
    destinations: list[str] = []
    for index, file in enumerate(consumer.files):
        key = f"files.{index}.destination"
        paths.check_plain(key, file.destination)
        if other := paths.covers(file.destination, destinations):
            rule = f"{other} is another file"
            raise Refusal(key, file.destination, rule, "give each a path of its own, none inside another")
        destinations.append(file.destination)
    for path, count in Counter(mount.path for mount in consumer.mounts).items():
        if count > 1:
            raise Refusal("mounts", path, f"{count} volumes are mounted there", "give each a path of its own")
    for name, count in Counter(mount.volume for mount in consumer.mounts).items():
        if count > 1:
            raise Refusal("mounts", name, f"the volume is mounted {count} times", "mount it once")
