"""Pulumi, Nomad and the CSI protocol in fixed versions, provided once into a cache that every clone shares."""

from tools.toolchain.csi import csi_proto_dir
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import CSI_SANITY, JUDGE
from tools.toolchain.provide import Toolchain, ensure, ensure_built, ensure_csi, find

__all__ = [
    "CSI_SANITY",
    "JUDGE",
    "Toolchain",
    "ToolchainError",
    "csi_proto_dir",
    "ensure",
    "ensure_built",
    "ensure_csi",
    "find",
]
