"""The CSI drivers as commands: what an agent finds on its PATH where a container image would be pulled."""

from __future__ import annotations

from typing import Final

from sandbox.machine.launcher import write_launcher
from sandbox.settings import SandboxSettings
from sandbox.standins.csi import folders

_DISK: Final = "/mnt"
"""The instance's own disk: everything else of its file system is the machine's."""

_COMMANDS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "aws-ebs-csi-driver": ("sandbox.standins.ebs_csi_driver", {}),
    "aws-efs-csi-driver": (
        "sandbox.standins.efs_csi_driver",
        {
            "/var/run/efs": "/run/efs",
            "/var/amazon/efs": f"{_DISK}/var/amazon/efs",
            "/etc/amazon/efs": f"{_DISK}/etc/amazon/efs",
        },
    ),
    "democratic-csi": ("sandbox.standins.democratic_csi", {}),
    "hostpathplugin": ("sandbox.standins.hostpath", {"/csi-data-dir": f"{_DISK}/var/lib/csi-hostpath-data"}),
}
"""Module of each command, and where the folders are that its image has from bind mounts."""


def write(settings: SandboxSettings) -> None:
    """Writes the commands."""
    for name, (module, places) in _COMMANDS.items():
        pairs = ",".join(f"{inside}={outside}" for inside, outside in places.items())
        write_launcher(settings.bin_dir / name, module, {folders.VARIABLE: pairs} if pairs else {})
    # No stand-in: the program itself, which is told where the sandbox's AWS is.
    ec2 = settings.ec2_url
    aws = {"AWS_ENDPOINT_URL_EC2": ec2, "AWS_ENDPOINT_URL_STS": ec2, "AWS_REGION": settings.region}
    write_launcher(settings.bin_dir / "nomad-stateful-agent", "nomad_stateful.agent", aws)
