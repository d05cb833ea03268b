"""What a sandbox is made of, and where its parts are."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

CODE: Final = Path(__file__).resolve().parents[2]
"""The folder that the packages sandbox and tools are in: a clone, or a folder of the package nomad-stateful-sandbox."""

IN_CLONE: Final = (CODE / "Pulumi.yaml").is_file()

PROJECT: Final = CODE if IN_CLONE else Path.cwd()
"""The folder of the Pulumi project that is deployed, of sandbox.toml and of .sandbox."""

STACK: Final = "dev"
"""The stack that is deployed when none is named."""

HOME_VARIABLE: Final = "NOMAD_STATEFUL_SANDBOX_HOME"
CONFIG_VARIABLE: Final = "NOMAD_STATEFUL_SANDBOX_CONFIG"

# AWS keeps the first four addresses and the last of a subnet for itself.
FIRST_INSTANCE_ADDRESS: Final = 10


@dataclass(frozen=True)
class InstanceSpec:
    """One instance: a Nomad client in a zone."""

    name: str
    zone: str


@dataclass(frozen=True)
class ServerSpec:
    """One Nomad server: in a zone, or, where there is one alone, on the gateway."""

    name: str
    zone: str | None
    address: IPv4Address


@dataclass(frozen=True)
class PulledImage:
    """An image of a registry, in the place of one that is built here."""

    name: str
    """What jobs ask for, with a tag."""
    reference: str
    """REGISTRY/REPOSITORY@sha256:DIGEST"""

    @property
    def label(self) -> str:
        """Its name and the beginning of its digest."""
        return f"{self.name}@{self.reference.partition('@')[2][:19]}"


@dataclass(frozen=True)
class SandboxSettings:
    """Where the sandbox lives, which addresses it takes, and what is in it."""

    home: Path
    name: str
    subnet: IPv4Network
    region: str
    zones: tuple[str, ...]
    instances: tuple[InstanceSpec, ...]
    ec2_port: int
    nomad_http_port: int
    nomad_rpc_port: int
    nomad_serf_port: int
    tls: bool
    images: tuple[PulledImage, ...] = ()
    servers: int = 1
    zone_delay_ms: float = 0.0
    """How long a packet from one zone takes longer to another one."""

    @property
    def bridge(self) -> str:
        """Name of the host's bridge."""
        return f"{self.name}-br"

    @property
    def gateway(self) -> IPv4Address:
        """The host's address on the bridge: the only one the sandbox listens on outside its instances."""
        return self.subnet.network_address + 1

    @property
    def file_server(self) -> IPv4Address:
        """The file server's address on the bridge, which VPCs keep for themselves too: no instance gets it."""
        return self.subnet.network_address + 2

    @property
    def ec2_url(self) -> str:
        """Endpoint of the EC2, IAM and STS APIs."""
        return f"http://{self.gateway}:{self.ec2_port}"

    @property
    def nomad_url(self) -> str:
        """Address of Nomad's HTTP API."""
        return self.nomad_url_at(self.gateway)

    @property
    def nomad_servers(self) -> tuple[ServerSpec, ...]:
        """The Nomad servers; several are one a zone, at the last address of its subnet."""
        if self.servers == 1:
            return (ServerSpec("server", None, self.gateway),)
        zones = self.zones[: self.servers]
        return tuple(ServerSpec(f"server-{zone}", zone, self.zone_subnet(zone)[-2]) for zone in zones)

    @property
    def run_dir(self) -> Path:
        """Process records of the daemons."""
        return self.home / "run"

    @property
    def log_dir(self) -> Path:
        """Logs of the daemons and of `up`."""
        return self.home / "log"

    @property
    def env_file(self) -> Path:
        """What a shell sources to work with the sandbox by hand."""
        return self.home / "env"

    @property
    def volume_dir(self) -> Path:
        """Images of the EBS volumes."""
        return self.home / "ec2" / "volumes"

    @property
    def instance_dir(self) -> Path:
        """One folder per instance, named by its id."""
        return self.home / "ec2" / "instances"

    @property
    def efs_dir(self) -> Path:
        """One folder per EFS file system, named by its id."""
        return self.home / "ec2" / "efs"

    @property
    def nas_dir(self) -> Path:
        """The file server for ZFS and NFS, and the key that may log in to it."""
        return self.home / "nas"

    @property
    def nomad_dir(self) -> Path:
        """Configuration, tokens and data of the Nomad server."""
        return self.home / "nomad"

    @property
    def nomad_tls_dir(self) -> Path:
        """Certificates and keys of the cluster."""
        return self.nomad_dir / "tls"

    @property
    def nomad_cli_certificate(self) -> Path:
        """The certificate of people and programs that use the API; there with TLS over HTTP alone."""
        return self.nomad_tls_dir / "global-cli-nomad.pem"

    @property
    def docker_dir(self) -> Path:
        """What the sandbox notes about its images."""
        return self.home / "docker"

    def nomad_url_at(self, address: IPv4Address) -> str:
        """Address of the HTTP API of one server."""
        return f"{'https' if self.tls else 'http'}://{address}:{self.nomad_http_port}"

    def zone_subnet(self, zone: str) -> IPv4Network:
        """The part of the subnet that belongs to a zone."""
        parts = 1 << (len(self.zones) - 1).bit_length()
        return list(self.subnet.subnets(prefixlen_diff=parts.bit_length() - 1))[self.zones.index(zone)]

    def instance_address(self, spec: InstanceSpec) -> IPv4Address:
        """The fixed private address of an instance, inside its zone's subnet."""
        peers = [other.name for other in self.instances if other.zone == spec.zone]
        return self.zone_subnet(spec.zone).network_address + FIRST_INSTANCE_ADDRESS + peers.index(spec.name)
