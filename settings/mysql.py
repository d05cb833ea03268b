"""Settings of the MySQL server."""

from typing import Literal

from pydantic import Field, model_validator

from settings.errors import Refusal
from settings.types import Duration, Identifier, PinnedImage, PlainText, Section


class Mysql(Section):
    """The MySQL server and the volume it stores its data on."""

    job_id: Identifier = Field("mysql-server", description="Id of the job and name of its service.")
    volume: Identifier = Field(description="Name of the volume that holds the data.")
    port: int = Field(3306, ge=0, le=65535, description="Port on the client; 0 lets Nomad choose one.")
    task_driver: Literal["docker", "exec"] = Field("docker", description="How Nomad runs the server: docker or exec.")
    image: PinnedImage = Field("mysql:8.4.6", description="Image with a pinned tag or digest (docker only).")
    command: PlainText = Field(
        "mysql-entrypoint",
        description="Program to run when `taskDriver` is exec; takes the image's environment and arguments.",
    )
    user: PlainText = Field("", description="User the task starts as; empty leaves it to the task driver.")
    data_dir: str = Field(
        "/srv/mysql",
        pattern=r"^/[\w.-]+(/[\w.-]+)+$",
        description="Data directory: a folder inside the mount, since the root of a file system has lost+found.",
        json_schema_extra={"rule": "must be an absolute path with a folder inside the mount, such as /srv/mysql"},
    )
    service_provider: Literal["nomad", "consul"] = Field("nomad", description="Where the service is registered.")
    check_interval: Duration = Field("2s", description="Pause between two checks of the service.")
    check_timeout: Duration = Field("2s", description="How long one check may take.")
    restart_attempts: int = Field(10, ge=0, description="Restarts on the same client within `restartInterval`.")
    restart_interval: Duration = Field("5m", description="Window in which restarts are counted.")
    restart_delay: Duration = Field("5s", description="Pause before a restart.")
    kill_timeout: Duration = Field("60s", description="Time the server has to shut down cleanly.")
    server_args: list[PlainText] = Field(default=[], description="Further arguments for the server.")
    cpu_mhz: int = Field(500, ge=20, description="CPU, in MHz.")
    memory_mib: int = Field(1024, ge=128, description="Memory, in MiB.")
    release_timeout_s: int = Field(
        300, ge=10, description="How long `destroy` waits for the volume to be released, in seconds."
    )
    timeout_s: int = Field(300, ge=10, description="How long `up` waits for the server to answer, in seconds.")

    @property
    def mount_path(self) -> str:
        """Where the volume is mounted in the task."""
        return "/" + self.data_dir.split("/")[1]

    @model_validator(mode="after")
    def _check(self) -> "Mysql":
        if ".." in self.data_dir.split("/"):
            raise Refusal("dataDir", self.data_dir, "must not contain ..", "write the path out")
        return self
