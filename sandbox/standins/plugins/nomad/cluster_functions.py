"""nomad:index/getVolumes:getVolumes and nomad:index/getNodes:getNodes."""

from __future__ import annotations

import zlib
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Function, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection
from sandbox.standins.plugins.nomad.inputs import known_arguments
from sandbox.standins.plugins.nomad.node_resources import node_resources, reserved_resources


class GetVolumes(Function):
    """CSI volumes, as rows of strings."""

    token = "nomad:index/getVolumes:getVolumes"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def invoke(self, ctx: Context, args: Props) -> Props:
        """Filtered by namespace, node and plugin."""
        known_arguments(args, frozenset({"namespace", "nodeId", "pluginId", "type"}))
        namespace, kind = args.get("namespace") or "default", args.get("type") or "csi"
        filters: dict[str, Any] = {"node_id": args.get("nodeId") or None, "plugin_id": args.get("pluginId") or None}
        try:
            found = self._connection.api.get("volumes", type="csi", namespace=namespace, **filters)
        except ProviderError as error:
            raise ProviderError(f"error reading volumes from Nomad: {error}") from None
        given = {key: args[key] for key in ("nodeId", "pluginId") if args.get(key)}
        rows = [_volume_row(item) for item in found or []]
        address = f"{self._connection.address}/v1/volumes"
        return given | {"namespace": namespace, "type": kind, "volumes": rows, "id": address}


class GetNodes(Function):
    """Client nodes."""

    token = "nomad:index/getNodes:getNodes"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def invoke(self, ctx: Context, args: Props) -> Props:
        """Attributes and resources only where asked for."""
        known_arguments(args, frozenset({"filter", "prefix", "os", "resources"}))
        with_os, with_resources = args.get("os") is True, args.get("resources") is True
        prefix, expression = args.get("prefix") or "", args.get("filter") or ""
        query: dict[str, Any] = {"prefix": prefix or None, "filter": expression or None}
        try:
            found = self._connection.api.get("nodes", os=with_os or None, resources=with_resources or None, **query)
        except ProviderError as error:
            raise ProviderError(f"error reading nodes: {error}") from None
        text = f"{prefix}{expression}{_text(with_os)}{_text(with_resources)}"
        given = {key: args[key] for key in ("prefix", "filter") if args.get(key)}
        nodes = [_node(item) for item in found or []]
        return given | {
            "os": with_os,
            "resources": with_resources,
            "nodes": nodes,
            "id": str(zlib.crc32(text.encode())),
        }


def _volume_row(item: dict[str, Any]) -> dict[str, str]:
    return {
        "id": item.get("ID") or "",
        "namespace": item.get("Namespace") or "",
        "name": item.get("Name") or "",
        "external_id": item.get("ExternalID") or "",
        "access_mode": item.get("AccessMode") or "",
        "attachement_mode": item.get("AttachmentMode") or "",  # spelled as the official plugin does
        "schedulable": _text(bool(item.get("Schedulable"))),
        "plugin_id": item.get("PluginID") or "",
        "plugin_provider": item.get("Provider") or "",
        "controller_required": _text(bool(item.get("ControllerRequired"))),
        "controllers_healthy": str(item.get("ControllersHealthy") or 0),
        "controllers_expected": str(item.get("ControllersExpected") or 0),
        "nodes_healthy": str(item.get("NodesHealthy") or 0),
        "nodes_expected": str(item.get("NodesExpected") or 0),
    }


def _node(item: dict[str, Any]) -> Props:
    drivers = [
        {
            "name": name,
            "detected": bool(driver.get("Detected")),
            "healthy": bool(driver.get("Healthy")),
            "attributes": driver.get("Attributes") or {},
        }
        for name, driver in sorted((item.get("Drivers") or {}).items())
    ]
    return {
        "id": item.get("ID") or "",
        "name": item.get("Name") or "",
        "address": item.get("Address") or "",
        "attributes": item.get("Attributes") or {},
        "datacenter": item.get("Datacenter") or "",
        "drain": bool(item.get("Drain")),
        "drivers": drivers,
        "nodeClass": item.get("NodeClass") or "",
        "nodePool": item.get("NodePool") or "",
        "schedulingEligibility": item.get("SchedulingEligibility") or "",
        "status": item.get("Status") or "",
        "statusDescription": item.get("StatusDescription") or "",
        "version": item.get("Version") or "",
        "nodeResources": node_resources(item.get("NodeResources")),
        "reservedResources": reserved_resources(item.get("ReservedResources")),
    }


def _text(value: bool) -> str:
    return "true" if value else "false"
