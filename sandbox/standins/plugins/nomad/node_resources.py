"""A node's resources in the shape of getNodes' result."""

from __future__ import annotations

from typing import Any

from nomad_stateful.plugin_server.plugin import Props


def node_resources(found: dict[str, Any] | None) -> list[Props]:
    """What the node has; empty when it was not asked for."""
    if not found:
        return []
    cpu, memory, disk = (found.get(part) or {} for part in ("Cpu", "Memory", "Disk"))
    return [
        {
            "cpus": [
                {
                    "cpuShares": cpu.get("CpuShares") or 0,
                    "totalCpuCores": cpu.get("TotalCpuCores") or 0,
                    "reservableCpuCores": cpu.get("ReservableCpuCores") or [],
                }
            ],
            "memories": [{"memoryMb": memory.get("MemoryMB") or 0}],
            "disks": [{"diskMb": disk.get("DiskMB") or 0}],
            "networks": [_network(item) for item in found.get("Networks") or []],
            "devices": [_device(item) for item in found.get("Devices") or []],
            "minDynamicPort": found.get("MinDynamicPort") or 0,
            "maxDynamicPort": found.get("MaxDynamicPort") or 0,
        }
    ]


def reserved_resources(found: dict[str, Any] | None) -> list[Props]:
    """What the node keeps for itself; empty when it was not asked for."""
    if not found:
        return []
    cpu, memory, disk, networks = (found.get(part) or {} for part in ("Cpu", "Memory", "Disk", "Networks"))
    return [
        {
            "cpus": [{"cpuShares": cpu.get("CpuShares") or 0}],
            "memories": [{"memoryMb": memory.get("MemoryMB") or 0}],
            "disks": [{"diskMb": disk.get("DiskMB") or 0}],
            "networks": {"reserved_host_ports": networks.get("ReservedHostPorts") or ""},
        }
    ]


def _network(item: dict[str, Any]) -> Props:
    return {
        "cidr": item.get("CIDR") or "",
        "device": item.get("Device") or "",
        "ip": item.get("IP") or "",
        "mode": item.get("Mode") or "",
    }


def _device(item: dict[str, Any]) -> Props:
    return {
        "count": len(item.get("Instances") or []),
        "name": item.get("Name") or "",
        "type": item.get("Type") or "",
        "vendor": item.get("Vendor") or "",
    }
