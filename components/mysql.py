"""MySQL on a CSI volume."""

from typing import TypedDict

import pulumi
import pulumi_nomad as nomad

import jobs
from components.placement import JobPlacement
from provider.sdk import GeneratedSecret, JobHealth, VolumeRelease, get_service_output


class MysqlTask(TypedDict):
    """How the server runs."""

    driver: str
    """docker or exec."""
    image: str
    """Image with its tag (docker)."""
    command: str
    """Program that takes the image's environment and arguments (exec)."""
    user: str
    """User the task starts as; empty leaves it to the task driver."""
    args: list[str]
    """Further arguments for the server."""
    kill_timeout: str
    """Time the server has to shut down cleanly, such as 60s."""
    cpu_mhz: int
    """CPU in MHz."""
    memory_mib: int
    """Memory in MiB."""


class MysqlService(TypedDict):
    """Where the service is registered, and its check."""

    provider: str
    """nomad or consul."""
    check_interval: str
    """Pause between two checks."""
    check_timeout: str
    """How long one check may take."""


class MysqlRestart(TypedDict):
    """Restarts on the same client."""

    attempts: int
    """Restarts within the interval."""
    interval: str
    """Window in which restarts are counted."""
    delay: str
    """Pause before a restart."""


class MysqlServerArgs(TypedDict):
    """Inputs of MysqlServer."""

    job_id: str
    """Id of the job and name of its service."""
    placement: JobPlacement
    """Where the job may run."""
    volume_id: pulumi.Input[str]
    """Id of the registered volume."""
    registration_id: pulumi.Input[str]
    """Id of the volume's registration: when it is replaced, the server is stopped before and started after."""
    external_id: pulumi.Input[str]
    """EBS volume id, to know when the volume is detached."""
    backend: str
    """What holds the data: ebs, or none where only Nomad knows when it is released."""
    region: str
    """AWS region of the volume."""
    mount_path: str
    """Where the volume is mounted in the task."""
    data_dir: str
    """Data directory, a folder inside the mount."""
    port: int
    """Port on the client; 0 lets Nomad choose one."""
    task: MysqlTask
    """How the server runs."""
    service: MysqlService
    """Where the service is registered."""
    restart: MysqlRestart
    """Restarts on the same client."""
    release_timeout_s: int
    """How long a destroy waits for the volume to be released, in seconds."""
    timeout_s: int
    """How long to wait for the server to answer, in seconds."""


class MysqlServer(pulumi.ComponentResource):
    """A single MySQL server whose rows outlive the job, since they are on the volume."""

    host: pulumi.Output[str]
    """Address of the client the server runs on."""
    port: pulumi.Output[int]
    """Port of the server."""
    allocation_id: pulumi.Output[str]
    """Allocation that runs the server."""
    password: pulumi.Output[str]
    """Password of root (secret)."""

    def __init__(self, name: str, args: MysqlServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("nomad-stateful:index:MysqlServer", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        password = GeneratedSecret(f"{name}-password", length=32, opts=child)
        variable = nomad.Variable(
            f"{name}-variable",
            namespace=args["placement"]["namespace"],
            path=f"nomad/jobs/{args['job_id']}",
            items={"root_password": password.result},
            opts=child,
        )
        release = VolumeRelease(
            f"{name}-volume-release",
            volume_id=args["volume_id"],
            namespace=args["placement"]["namespace"],
            backend=args["backend"],
            external_id=args["external_id"],
            region=args["region"],
            consumer_job_id=args["job_id"],
            registration_id=args["registration_id"],
            timeout_s=args["release_timeout_s"],
            opts=child,
        )
        job = self._job(name, args, release, variable)
        health = JobHealth(
            f"{name}-health",
            job_id=args["job_id"],
            namespace=args["placement"]["namespace"],
            group="mysql",
            triggers={"job": job.modify_index},
            timeout_s=args["timeout_s"],
            opts=child,
        )
        service = get_service_output(
            # Of the allocation, so that nothing is asked before there is one.
            job_id=pulumi.Output.all(health.job_id, health.allocation_id).apply(lambda known: str(known[0])),
            namespace=args["placement"]["namespace"],
            group="mysql",
            port_label="db",
            parent=self,
        )
        self.host = service.apply(lambda known: known.host)
        self.port = service.apply(lambda known: known.port)
        self.allocation_id = service.apply(lambda known: known.allocation_id)
        self.password = password.result
        self.register_outputs({"host": self.host, "port": self.port, "password": self.password})

    def _job(self, name: str, args: MysqlServerArgs, release: VolumeRelease, variable: nomad.Variable) -> nomad.Job:
        volume = pulumi.Output.all(id=release.volume_id, release=release.release_id).apply(
            lambda known: jobs.hcl_value(
                {
                    **known,
                    "access_mode": "single-node-writer",
                    "attachment_mode": "file-system",
                    "mount_path": args["mount_path"],
                }
            )
        )
        server_args = [
            f"--datadir={args['data_dir']}",
            # Checks connect without logging in; with name resolution on, MySQL would block their host for that.
            "--skip-name-resolve",
            *args["task"]["args"],
        ]
        plain = {
            "job": {"id": args["job_id"], **args["placement"]},
            "task": {**args["task"], "args": server_args},
            "port": args["port"],
            "service": args["service"],
            "restart": args["restart"],
        }
        return nomad.Job(
            f"{name}-job",
            jobspec=jobs.spec("mysql"),
            hcl2=nomad.JobHcl2Args(vars={"volume": volume, **{k: jobs.hcl_value(v) for k, v in plain.items()}}),
            purge_on_destroy=True,
            rerun_if_dead=True,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[variable]),
        )
