"""The compiled CSI protocol, wherever it lies: the only place that knows how to find it."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Final

PROTO_VARIABLE: Final = "NOMAD_STATEFUL_CSI_PROTO"
"""Folder that holds csi_pb2.py; unset: the toolchain's own."""


def _proto_dir() -> str:
    """The folder of the generated modules."""
    if folder := os.environ.get(PROTO_VARIABLE):
        return folder
    from tools.toolchain import csi_proto_dir

    return str(csi_proto_dir())


def _load() -> Any:
    if "csi_pb2" not in sys.modules and (folder := _proto_dir()) not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("csi_pb2")


csi: Any = _load()
"""The module csi_pb2: messages, enums and service descriptors of csi.v1."""
