"""Any program on CSI volumes."""

from typing import NotRequired, TypedDict

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.consumer import Consumer, RegisteredVolume
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobConstraint, JobPlacement
from nomad_stateful.components.restart import JobRestart
from nomad_stateful.sdk import VolumeRelease


class ContainerVolume(TypedDict):
    """A volume, or a set with one volume for each instance, and where the program sees it."""

    name: str
    """Name within the job."""
    source: str
    """Id of the volume; of a set without its [i]."""
    members: list[RegisteredVolume]
    """The registered volume, or those of the set."""
    earlier_name: NotRequired[str | None]
    """The name it had within the job before it was renamed."""
    access_mode: str
    """Access mode, such as single-node-writer."""
    attachment_mode: str
    """file-system or block-device."""
    read_only: bool
    """Mount it read-only."""
    per_alloc: bool
    """Give instance i the volume SOURCE[i]."""
    mount_path: str
    """Where the program sees it."""


class ContainerTask(TypedDict):
    """How the program runs."""

    driver: str
    """docker or exec."""
    image: str
    """Image with its tag (docker)."""
    command: str
    """Program (exec); with docker empty for the image's own."""
    args: list[str]
    """Arguments."""
    env: dict[str, str]
    """Environment."""
    user: str
    """User the task starts as; empty leaves it to the task driver."""
    kill_signal: str
    """Signal that asks the program to end; empty leaves it to the task driver: docker's is the image's own."""
    kill_timeout: str
    """Time the program has to end, such as 30s."""
    cpu_mhz: int
    """CPU in MHz."""
    memory_mib: int
    """Memory in MiB."""


class ContainerPort(TypedDict):
    """A port of the client."""

    label: str
    """Name of the port."""
    static: int
    """Port on the client; 0 lets Nomad choose one."""
    to: int
    """Port inside a container; 0 is the same."""


class ContainerFile(TypedDict):
    """A file of the task."""

    path: str
    """Path in the task's folder, starting with local/ or secrets/."""
    text: str
    """Its text, a Nomad template."""
    perms: str
    """Permissions, such as 0644."""
    change_mode: str
    """What happens when the template renders again: restart or noop."""


class ContainerService(TypedDict):
    """The service of each instance."""

    provider: str
    """nomad or consul."""
    port: str
    """Label of its port."""
    check: str
    """tcp or http."""
    check_path: str
    """Path of an http check."""
    check_interval: str
    """Pause between two checks."""
    check_timeout: str
    """How long one check may take."""


class ContainerArgs(TypedDict):
    """Inputs of Container."""

    job_id: str
    """Id of the job and name of its service."""
    placement: JobPlacement
    """Where the job may run."""
    owner: NotRequired[Owner | None]
    """Whose the job is: claimed before anything is made under its id."""
    constraints: list[JobConstraint]
    """Further constraints of the job."""
    count: int
    """Instances."""
    canaries: int
    """Instances of a new version that run beside the old ones before it goes on."""
    volumes: list[ContainerVolume]
    """The volumes."""
    task: ContainerTask
    """How the program runs."""
    ports: list[ContainerPort]
    """Ports."""
    files: list[ContainerFile]
    """Files of the task."""
    secrets: NotRequired[dict[str, pulumi.Input[str]] | None]
    """Items of the variable nomad/jobs/JOB_ID, which the files may show (secret)."""
    services: list[ContainerService]
    """The service of each instance, at most one."""
    restart: JobRestart
    """Restarts on the same client."""
    stop_after_disconnect: NotRequired[str | None]
    """How long a client that reaches no Nomad server lets it run, such as 2m; without it, for ever."""
    release_timeout_s: int
    """How long a destroy waits for each volume to be released, in seconds."""
    timeout_s: int
    """How long to wait for the instances to be healthy, in seconds."""


class Container(Component):
    """A job whose files outlive it, since they are on volumes."""

    job_id: pulumi.Output[str]
    """Id of the job, known once all its instances are healthy."""
    allocation_id: pulumi.Output[str]
    """Newest of the allocations that run it."""

    def __init__(self, name: str, args: ContainerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        members = [member for volume in args["volumes"] for member in volume["members"]]
        placed = in_account("Container", name, account_of(members), opts)
        super().__init__("Container", name, placed)
        own = Consumer(name, args["job_id"], args["placement"], self, args.get("owner"))
        items = args.get("secrets")
        change = own.change("container", job_variables.container(args))
        gates = _gates(own, args["volumes"], args["release_timeout_s"], change)
        secrets = [] if items is None else [own.variable(items, [gate for found in gates for gate in found])]
        job = own.job("container", _variables(args, gates), depends_on=secrets, purged_by_gate=bool(args["volumes"]))
        health = own.health(job, "container", args["timeout_s"], allocations=args["count"])
        self.job_id = pulumi.Output.all(health.job_id, health.allocation_id).apply(lambda known: str(known[0]))
        self.allocation_id = health.allocation_id
        self.register_outputs({"job_id": self.job_id, "allocation_id": self.allocation_id})


def _variables(args: ContainerArgs, gates: list[list[VolumeRelease]]) -> dict[str, object]:
    volumes = [_volume(volume, found) for volume, found in zip(args["volumes"], gates, strict=True)]
    return {**job_variables.container(args), "volumes": pulumi.Output.all(*volumes)}


def _gates(
    own: Consumer, volumes: list[ContainerVolume], timeout_s: int, change: pulumi.Output[str]
) -> list[list[VolumeRelease]]:
    """Returns a gate for each volume, by volume; the first of all comes before each change of the job."""
    gates: list[list[VolumeRelease]] = []
    for volume in volumes:
        earlier = volume.get("earlier_name")
        found: list[VolumeRelease] = []
        for number, member in enumerate(volume["members"]):
            index = f"-{number}" if volume["per_alloc"] else ""
            gate = own.gate(
                f"release-{volume['name']}{index}",
                member,
                timeout_s,
                earlier_suffixes=[f"release-{earlier}{index}"] if earlier else [],
                change=None if found or gates else change,
            )
            found.append(gate)
        gates.append(found)
    return gates


def _volume(volume: ContainerVolume, gates: list[VolumeRelease]) -> dict[str, object]:
    releases = [Consumer.generation(gate, member) for gate, member in zip(gates, volume["members"], strict=True)]
    return {**job_variables.container_volume(volume), "releases": releases}
