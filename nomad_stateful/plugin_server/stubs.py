"""Pulumi's generated protocol stubs, loaded without the SDK around them.

Importing `pulumi.runtime.proto` runs `pulumi/__init__.py` first, which triples a plugin's start-up time. The
generated modules import each other relatively only, so the same folder is loaded as a package of its own here.
In a process that has the SDK anyway (a test, a program) the SDK's own modules are used.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

_SDK_PACKAGE = "pulumi.runtime.proto"
_OWN_PACKAGE = "_pulumi_proto"


def _package() -> str:
    """Returns the name of the importable package that holds the stubs."""
    if _SDK_PACKAGE in sys.modules:
        return _SDK_PACKAGE
    if _OWN_PACKAGE not in sys.modules:
        sdk = importlib.util.find_spec("pulumi")
        if sdk is None or not sdk.submodule_search_locations:
            raise ImportError("the package pulumi is not installed in this Python environment")
        folder = Path(sdk.submodule_search_locations[0], "runtime", "proto")
        spec = importlib.util.spec_from_file_location(
            _OWN_PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"no protocol stubs in {folder}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[_OWN_PACKAGE] = module
        spec.loader.exec_module(module)
    return _OWN_PACKAGE


def _load(name: str) -> ModuleType:
    return importlib.import_module(f"{_package()}.{name}")


if TYPE_CHECKING:
    from pulumi.runtime.proto import (
        engine_pb2,
        engine_pb2_grpc,
        plugin_pb2,
        provider_pb2,
        provider_pb2_grpc,
        status_pb2,
    )
else:
    engine_pb2 = _load("engine_pb2")
    engine_pb2_grpc = _load("engine_pb2_grpc")
    plugin_pb2 = _load("plugin_pb2")
    provider_pb2 = _load("provider_pb2")
    provider_pb2_grpc = _load("provider_pb2_grpc")
    status_pb2 = _load("status_pb2")

__all__ = ["engine_pb2", "engine_pb2_grpc", "plugin_pb2", "provider_pb2", "provider_pb2_grpc", "status_pb2"]
