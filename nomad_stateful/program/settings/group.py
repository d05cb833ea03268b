"""Settings of a replication group: three servers, one a zone, and the routers that lead to its primary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from nomad_stateful.nomad.deadlines import seconds
from nomad_stateful.program.settings import database_rules
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import MOST_CPU_MHZ, MOST_MEMORY_MIB, PinnedImage, Section

if TYPE_CHECKING:
    from nomad_stateful.program.settings.database import DatabaseSection
    from nomad_stateful.program.settings.volume import Volume

SIZE = 3
"""Members: the fewest of which one may be lost."""
# Beside the message cache: 860 were measured of a secondary with its pages in the buffer pool and no session. Sessions
# come to that, and where it does not suffice the kernel kills one member after the other.
_LEAST_MIB, _USUAL_MIB = 896, 1408
# jobs/mysql/member.sh takes up to 21 s to hand the primary over and tell routers, before it asks the server to stop.
_LEAST_KILL_S = 30
# The longest name that is made of a job's id, which is a service and a host: JOBID-router, of 63 characters at most.
_LONGEST_JOB_ID = 56
# HAProxy's with `init-state`, by which a router that starts leads nowhere until it knows the primary.
_LEAST_ROUTER = (3, 1)


class Router(Section):
    """HAProxy on every client, which follows the primary."""

    image: PinnedImage = Field("haproxy:3.2.9", description="Image with a pinned tag or digest: HAProxy 3.1 or newer.")
    cpu_mhz: int = Field(50, ge=20, le=MOST_CPU_MHZ, description="CPU, in MHz.")
    memory_mib: int = Field(64, ge=32, le=MOST_MEMORY_MIB, description="Memory, in MiB.")


class ReplicationGroup(Section):
    """Three servers on a set of three volumes, each in a zone of its own."""

    member_port: int = Field(
        13306, ge=1024, le=65535, description="Port of each member on its client; clients use `port`, the router's."
    )
    agent_port: int = Field(
        13307, ge=1024, le=65535, description="Port where each member's agent says what the member is."
    )
    read_port: int = Field(
        3307, ge=1, le=65535, description="The router's port for reads, from members that are not far behind."
    )
    max_lag_s: int = Field(
        10, ge=1, le=3600, description="How far behind a member may be that answers reads, in seconds."
    )
    message_cache_mib: int = Field(
        128,
        ge=128,
        le=4096,
        description="Messages that each member keeps for others that come back, in MiB, of its `memoryMib`.",
    )
    agent_memory_mib: int = Field(128, ge=96, le=MOST_MEMORY_MIB, description="Memory of each agent, in MiB.")
    router: Router = Field(default=Router(), description="How the routers run.")


def member_memory_mib(group: ReplicationGroup) -> int:
    """Returns the memory of a member where none is set, in MiB."""
    return _USUAL_MIB + group.message_cache_mib


def member_names(job_id: str) -> list[str]:
    """Returns the ids of the members' jobs."""
    return [f"{job_id}-{number + 1}" for number in range(SIZE)]


def router_name(job_id: str) -> str:
    """Returns the id of the routers' job, whose service has the name that a single server's has."""
    return f"{job_id}-router"


def check(section: DatabaseSection, group: ReplicationGroup) -> None:
    """Raises Refusal for what a group cannot have."""
    if section.port == 0:
        raise Refusal("port", 0, "the routers of a group have one port on every client", "set it, such as 3306")
    ports = _ports(section, group)
    for key, port in ports.items():
        if first := next((other for other, used in ports.items() if used == port and other != key), None):
            raise Refusal(first, port, f"{key} is the same port, and both are on each client", "set another")
    if section.tls == "off":
        raise Refusal("tls", "off", "members copy from each other by TLS alone", "set preferred or required")
    if section.user.partition(":")[0] not in {"", "root", "0"}:
        rule = "a member writes the others' addresses to its container's /etc/hosts, which only root may"
        raise Refusal("user", section.user, rule, "remove it: the server itself runs as serverUid all the same")
    _check_names(section)
    _check_image(section)
    _check_router(section, group.router)
    _check_memory(section, group)
    if seconds(section.kill_timeout) < _LEAST_KILL_S:
        rule = "a member hands the primary over before its server stops, which takes up to 21 s"
        raise Refusal("killTimeout", section.kill_timeout, rule, f"set {_LEAST_KILL_S}s or more")


def check_ports(section: DatabaseSection, group: ReplicationGroup, others: Iterable[tuple[str, int]]) -> None:
    """Raises Refusal for a port of another job, by its setting, that clients have for a member or a router."""
    own = {port: key for key, port in _ports(section, group).items()}
    for key, port in others:
        if port in own:
            rule = f"{section.kind.name}.{own[port]} is the same port of the clients"
            raise Refusal(key, port, rule, "set another, or 0, by which Nomad chooses one")


def _ports(section: DatabaseSection, group: ReplicationGroup) -> dict[str, int]:
    """Returns the ports on clients by their settings: those of the routers on each, those of members on three."""
    ports = {"port": section.port, "group.memberPort": group.member_port}
    return ports | {"group.agentPort": group.agent_port, "group.readPort": group.read_port}


def _check_names(section: DatabaseSection) -> None:
    """The members' names are ones of hosts, and each is in the certificate by which they verify each other."""
    if len(section.job_id) > _LONGEST_JOB_ID:
        longest = f"{router_name('JOBID')}, a host's and a service's, of 63 characters at most"
        rule = f"a group takes {_LONGEST_JOB_ID} characters at most: other names are made of it, such as {longest}"
        raise Refusal("jobId", section.job_id, rule, "shorten it")
    given = section.tls_certificate
    if given is None or not given.ca:
        return
    known = {name.lower() for name in given.names}
    if lacking := ", ".join(name for name in member_names(section.job_id) if name.lower() not in known):
        raise Refusal(
            "tlsCertificate.certificate",
            f"for {', '.join(given.names)}" if given.names else "without a subjectAltName",
            f"with tlsCertificate.ca the members verify each other by their names, and it lacks {lacking}",
            "have it issued with these as DNS names of its subjectAltName, or remove ca",
        )


def _check_image(section: DatabaseSection) -> None:
    version, replication = section.kind.image_version(section.image), section.kind.group
    if version is None or replication is None or not _is_older(version[1], replication.least_version):
        return
    least = ".".join(map(str, replication.least_version))
    rule = f"a group is of {section.kind.title} {least} or newer"
    raise Refusal("image", section.image, rule, "set a newer one, or remove group")


def _check_memory(section: DatabaseSection, group: ReplicationGroup) -> None:
    options = database_rules.given_options(section).values()
    further_mib = section.kind.group.further_mib(options) if section.kind.group is not None else 0
    least_mib = _LEAST_MIB + group.message_cache_mib + further_mib
    if section.server_memory_mib < least_mib:
        pool = f", and {further_mib} for its buffer pool" if further_mib else ""
        rule = f"a member needs {_LEAST_MIB} MiB and group.messageCacheMib, which is {group.message_cache_mib}{pool}"
        raise Refusal("memoryMib", section.server_memory_mib, rule, f"set {least_mib} or more")


def _check_router(section: DatabaseSection, router: Router) -> None:
    version = section.kind.image_version(router.image)
    if version is None or not version[0].rpartition("/")[2].startswith("haproxy"):
        return
    if _is_older(version[1], _LEAST_ROUTER):
        rule = "the routers need HAProxy 3.1 or newer, for its init-state"
        raise Refusal("group.router.image", router.image, rule, "set a newer one, such as haproxy:3.2.9")


def _is_older(version: tuple[int, ...], least: tuple[int, int]) -> bool:
    return version[:2] < least[: len(version)]


def could_be(section: DatabaseSection, volume: Volume) -> bool:
    """Returns whether the volume is a set of three, one a zone: a group's, or what it leaves behind."""
    zones = {member.zone for member in volume.members}
    return section.kind.group is not None and volume.count == SIZE and len(zones) == SIZE


def check_volumes(section: DatabaseSection, volume: Volume) -> None:
    """Raises Refusal unless the volumes are a set of three, one a zone."""
    key = f"{section.kind.name}.volume"
    zones = [member.zone for member in volume.members]
    if could_be(section, volume):
        return
    found = f"it is {volume.count or 1} in {', '.join(dict.fromkeys(zones))}"
    rule = f"a group has {SIZE} volumes in {SIZE} zones, and {found}"
    remedy = f"set volumes.{volume.name}.count to {SIZE}, and its zones to {SIZE} different ones"
    raise Refusal(key, volume.name, rule, remedy)
