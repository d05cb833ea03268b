"""`status`: instances, clients, plugins, volumes and jobs of the sandbox, as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nomad_stateful.nomad.api import NomadApi, NomadError
from sandbox.cloud import service as cloud
from sandbox.cluster import acl, nodes, tls
from sandbox.commands.tables import table
from sandbox.settings import SandboxSettings, usage

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def run(settings: SandboxSettings) -> int:
    """Prints the tables; 1 when no sandbox is running."""
    if not cloud.is_alive(settings):
        print(f"no sandbox is running; start it with `{usage.UP}`")
        return 1
    from sandbox.cloud.aws_client import client

    ec2: EC2Client = client(settings, "ec2")
    print(table("instances", ("name", "id", "zone", "state", "address"), _instances(ec2)))
    api = tls.connect(settings, acl.read_tokens(settings).management)
    try:
        known = nodes.clients(api)
        rows = [(item.name, item.id[:8], item.zone, item.state, ", ".join(item.healthy_drivers)) for item in known]
        print(table("clients", ("name", "id", "zone", "state", "drivers"), rows))
        print(table("plugins", ("id", "provider", "controllers", "nodes"), _plugins(api)))
        print(table("volumes", ("id", "external id", "zone", "state", "attached to"), _volumes(api, ec2)))
        print(table("jobs", ("id", "type", "status", "running"), _jobs(api)))
    except NomadError as error:
        print(f"nomad: {error}")
        return 1
    finally:
        api.close()
    return 0


def _instances(ec2: EC2Client) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for reservation in ec2.describe_instances()["Reservations"]:
        for item in reservation["Instances"]:
            name = next((tag["Value"] for tag in item.get("Tags", []) if tag["Key"] == "Name"), "")
            zone = item["Placement"]["AvailabilityZone"]
            rows.append((name, item["InstanceId"], zone, item["State"]["Name"], item.get("PrivateIpAddress", "")))
    return sorted(rows)


def _plugins(api: NomadApi) -> list[tuple[str, ...]]:
    return [
        (
            item["ID"],
            item["Provider"],
            f"{item['ControllersHealthy']} of {item['ControllersExpected']} healthy",
            f"{item['NodesHealthy']} of {item['NodesExpected']} healthy",
        )
        for item in api.get("plugins", type="csi")
    ]


def _volumes(api: NomadApi, ec2: EC2Client) -> list[tuple[str, ...]]:
    disks: dict[str, Any] = {item["VolumeId"]: item for item in ec2.describe_volumes()["Volumes"]}
    rows: list[tuple[str, ...]] = []
    for item in api.get("volumes", type="csi", namespace="*"):
        disk = disks.get(item["ExternalID"], {})
        holders = ", ".join(attachment["InstanceId"] for attachment in disk.get("Attachments", []))
        rows.append((item["ID"], item["ExternalID"], disk.get("AvailabilityZone", ""), disk.get("State", "?"), holders))
    return rows


def _jobs(api: NomadApi) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for item in api.get("jobs", namespace="*"):
        groups = ((item.get("JobSummary") or {}).get("Summary") or {}).values()
        rows.append((item["ID"], item["Type"], item["Status"], str(sum(group["Running"] for group in groups))))
    return rows
