"""Makes the controller and what it stands on."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from sandbox.standins.csi import logs
from sandbox.standins.csi.metadata import MetadataError
from sandbox.standins.ebs_csi_driver.cloud.attachments import Attachments
from sandbox.standins.ebs_csi_driver.cloud.client import ClientSettings, Ec2, endpoint_from
from sandbox.standins.ebs_csi_driver.cloud.snapshots import Snapshots
from sandbox.standins.ebs_csi_driver.cloud.volumes import Volumes
from sandbox.standins.ebs_csi_driver.controller import ControllerService
from sandbox.standins.ebs_csi_driver.metrics import Metrics
from sandbox.standins.ebs_csi_driver.options import Options


def controller(options: Options, region: Callable[[], str], metrics: Metrics) -> ControllerService:
    """The controller for a command line; its EC2 client is made in the background."""
    ec2 = Ec2(ClientSettings(region, endpoint_from(), metrics.observe_request))
    Thread(target=_warm_up, args=(ec2,), name="ec2", daemon=True).start()
    volumes = Volumes(ec2)
    return ControllerService(options.extra_tags, volumes, Attachments(ec2, volumes), Snapshots(ec2))


def _warm_up(ec2: Ec2) -> None:
    """Makes the client before the first call needs it; what fails here fails there again, with its reason."""
    try:
        _ = ec2.client
    except MetadataError as error:
        logs.warning("No EC2 client yet", reason=error)
    except Exception as error:  # noqa: BLE001 - a broken AWS profile, say: told to whoever calls
        logs.warning("No EC2 client yet", reason=f"{type(error).__name__}: {error}")
