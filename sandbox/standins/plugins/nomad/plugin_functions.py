"""nomad:index/getPlugin:getPlugin and nomad:index/getPlugins:getPlugins."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Function, InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection, told, unless_gone
from sandbox.standins.plugins.nomad.inputs import known_arguments
from sandbox.standins.plugins.nomad.waits import Progress, retry

_WAIT_S = 1200.0


class GetPlugin(Function):
    """One CSI plugin; may wait until it is registered, or all its controllers and nodes are healthy."""

    token = "nomad:index/getPlugin:getPlugin"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def invoke(self, ctx: Context, args: Props) -> Props:
        """A plugin that is not ready when the wait is over is an error."""
        known_arguments(args, frozenset({"pluginId", "waitForRegistration", "waitForHealthy"}))
        plugin_id = args.get("pluginId")
        if not isinstance(plugin_id, str) or not plugin_id:
            raise InvokeFailure("pluginId", "pluginId is required: name the CSI plugin")
        healthy = args.get("waitForHealthy") is True
        waits = healthy or args.get("waitForRegistration") is True

        def attempt() -> dict[str, Any]:
            return self._find(plugin_id, healthy)

        if not waits:
            return _plugin(attempt(), args)
        goal = "healthy" if healthy else "registered"
        progress = Progress(ctx, f"CSI plugin {plugin_id} to be {goal}", _WAIT_S)
        return _plugin(retry(ctx, attempt, progress, lambda message: "code: 403" in message, lambda: ""), args)

    def _find(self, plugin_id: str, healthy: bool) -> dict[str, Any]:
        found: dict[str, Any] | None = unless_gone(
            "error checking for plugin", lambda: self._connection.api.get(f"plugin/csi/{quote(plugin_id, safe='')}")
        )
        if found is None:
            raise ProviderError(f'plugin "{plugin_id}" not found')
        lacking = [
            f"{found.get(f'{kind}Healthy') or 0} of {found.get(f'{kind}Expected') or 0} {kind.lower()}"
            for kind in ("Controllers", "Nodes")
            if (found.get(f"{kind}Expected") or 0) != (found.get(f"{kind}Healthy") or 0)
        ]
        if healthy and lacking:
            raise ProviderError(f'plugin "{plugin_id}" has {" and ".join(lacking)} healthy')
        return found


class GetPlugins(Function):
    """All CSI plugins, as rows of strings."""

    token = "nomad:index/getPlugins:getPlugins"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def invoke(self, ctx: Context, args: Props) -> Props:
        """Keys of the rows are spelled with underscores."""
        known_arguments(args, frozenset({"type"}))
        kind = args.get("type") or "csi"
        with told("error reading plugins from Nomad"):
            found = self._connection.api.get("plugins", type=kind)
        rows = [
            {
                "id": item.get("ID") or "",
                "provider": item.get("Provider") or "",
                "controller_required": _text(bool(item.get("ControllerRequired"))),
                "controllers_healthy": str(item.get("ControllersHealthy") or 0),
                "controllers_expected": str(item.get("ControllersExpected") or 0),
                "nodes_healthy": str(item.get("NodesHealthy") or 0),
                "nodes_expected": str(item.get("NodesExpected") or 0),
            }
            for item in found or []
        ]
        return {"type": kind, "plugins": rows, "id": f"{self._connection.address}/v1/plugins"}


def _plugin(found: dict[str, Any], args: Props) -> Props:
    nodes = found.get("Nodes") or {}
    return {
        "pluginId": args["pluginId"],
        "waitForRegistration": args.get("waitForRegistration") is True,
        "waitForHealthy": args.get("waitForHealthy") is True,
        "pluginProvider": found.get("Provider") or "",
        "pluginProviderVersion": found.get("Version") or "",
        "controllerRequired": bool(found.get("ControllerRequired")),
        "controllersExpected": found.get("ControllersExpected") or 0,
        "controllersHealthy": found.get("ControllersHealthy") or 0,
        "nodesExpected": found.get("NodesExpected") or 0,
        "nodesHealthy": found.get("NodesHealthy") or 0,
        "nodes": [
            {
                "name": name,
                "healthy": bool(node.get("Healthy")),
                "healthyDescription": node.get("HealthDescription") or "",
            }
            for name, node in sorted(nodes.items())
        ],
        "id": found.get("ID") or args["pluginId"],
    }


def _text(value: bool) -> str:
    return "true" if value else "false"
