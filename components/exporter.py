"""What the exporters' jobs have in common."""

from typing import TypedDict


class ExporterTask(TypedDict):
    """How an exporter runs."""

    image: str
    """Image with its tag."""
    cpu_mhz: int
    """CPU in MHz."""
    memory_mib: int
    """Memory in MiB."""


class ExporterService(TypedDict):
    """Where an exporter is found."""

    port: int
    """Port on the client; 0 lets Nomad choose one."""
    provider: str
    """Where the service is registered: nomad or consul."""
