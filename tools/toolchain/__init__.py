"""Pulumi, Nomad and the CSI protocol in fixed versions, provided once into a cache that every clone shares."""

from tools.toolchain.csi import csi_proto_dir
from tools.toolchain.errors import ToolchainError
from tools.toolchain.provide import (
    Toolchain,
    ensure,
    ensure_actionlint,
    ensure_csi,
    ensure_csi_sanity,
    ensure_judge,
    find,
)

__all__ = [
    "Toolchain",
    "ToolchainError",
    "csi_proto_dir",
    "ensure",
    "ensure_actionlint",
    "ensure_csi",
    "ensure_csi_sanity",
    "ensure_judge",
    "find",
]
