"""The CSI protocol's Python classes, generated from the specification's own csi.proto."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

from tools.toolchain import cache, golang, progress
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import CSI_SPEC_MODULE, CSI_SPEC_PINS, PINS

_PROTO: Final = "csi.proto"


def csi_proto_dir() -> Path:
    """Where csi_pb2.py and csi_pb2_grpc.py are, or will be once `ensure_csi_proto` has run; costs a file's read."""
    pins = (PINS / CSI_SPEC_PINS / "go.sum").read_bytes()
    key = cache.digest(pins, metadata.version("grpcio-tools"), platform.python_version())
    return cache.toolchain_root() / f"csi-proto-{key}"


def ensure_csi_proto() -> Path:
    """Generates the classes if they are not there yet. The caller holds the cache's lock."""
    return cache.publish(csi_proto_dir(), _generate)


def _generate(folder: Path) -> None:
    workspace = golang.workspace_for(CSI_SPEC_PINS, folder.parent / "work")
    with progress.step("generating the CSI protocol's classes", 5):
        source = golang.module_folder(CSI_SPEC_MODULE, workspace)
        outputs = [f"--{kind}_out={folder}" for kind in ("python", "grpc_python", "pyi")]
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{source}", *outputs, _PROTO]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        rule = f"grpcio-tools must be able to compile it; it said: {result.stderr.strip()}"
        raise ToolchainError(_PROTO, f"exit code {result.returncode}", rule, "Make the virtual environment again")
