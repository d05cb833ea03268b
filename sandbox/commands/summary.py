"""What `up` says at its end: what there is, where MySQL answers, and what to do next."""

from __future__ import annotations

from typing import Any

from sandbox.commands.tables import table
from sandbox.settings import SandboxSettings, usage
from sandbox.stack.stack import Stack


def show(settings: SandboxSettings, stack: Stack | None, *, changed: bool, elapsed_s: float) -> None:
    """Prints the summary to standard output."""
    print()
    print(render(settings, stack.outputs() if stack else {}, changed=changed, elapsed_s=elapsed_s))


def render(settings: SandboxSettings, outputs: dict[str, Any], *, changed: bool, elapsed_s: float) -> str:
    """The summary as text, out of the stack's outputs (empty when only the sandbox was started)."""
    parts = [] if changed else ["Nothing changed: everything was up already."]
    if outputs:
        plugins = (outputs.get("plugins") or {}).values()
        parts += [_volumes(outputs), *map(_plugin, plugins), _mysql(outputs)]
    parts.append(_next(settings, deployed=bool(outputs)))
    parts.append(f"Took {elapsed_s:.0f} s.")
    return "\n\n".join(part for part in parts if part)


def _volumes(outputs: dict[str, Any]) -> str:
    rows = [
        (name, str(volume.get("zone", "")), str(volume.get("id", "")), f"{volume.get('sizeGib', '?')} GiB")
        for name, volume in sorted((outputs.get("volumes") or {}).items())
    ]
    return table("Volumes", ("name", "zone", "EBS volume", "size"), rows)


def _plugin(plugin: dict[str, Any]) -> str:
    health = plugin.get("health") or {}
    if not plugin:
        return ""
    zones = health.get("zones_healthy") or {}
    rows = [(zone, f"{count} healthy") for zone, count in sorted(zones.items())]
    controllers = health.get("controllers_healthy", "?")
    return table(f"CSI plugin {plugin.get('id')}: {controllers} controllers healthy", ("zone", "node plugins"), rows)


def _mysql(outputs: dict[str, Any]) -> str:
    mysql = outputs.get("mysql") or {}
    if not mysql:
        return ""
    return (
        f"MySQL answers at {mysql.get('host')}:{mysql.get('port')} as user {mysql.get('user', 'root')}.\n"
        f"  {usage.MYSQL:<48}  logs in\n"
        "  pulumi stack output mysqlPassword --show-secrets  shows the password (after sourcing the env file below)"
    )


def _next(settings: SandboxSettings, *, deployed: bool) -> str:
    lines, wide = ["Next"], len(usage.STATUS)
    if deployed:
        lines.append(f"  {usage.VERIFY:<{wide}}  proves that rows survive a purge, a redeploy and a move")
    lines += [
        f"  . {settings.env_file}   lets pulumi, nomad and AWS's tools work with this sandbox",
        f"  {usage.STATUS:<{wide}}  shows instances, clients, plugins, volumes and jobs",
        f"  {usage.DOWN:<{wide}}  destroys the stack and removes the sandbox",
    ]
    return "\n".join(lines)
