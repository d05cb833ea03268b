"""Every driver, by the name settings give it."""

from drivers.democratic_csi import DEMOCRATIC_CSI
from drivers.ebs import EBS
from drivers.efs import EFS
from drivers.hostpath import HOSTPATH
from drivers.model import CsiDriver

DRIVERS: dict[str, CsiDriver] = {driver.name: driver for driver in (EBS, EFS, DEMOCRATIC_CSI, HOSTPATH)}
