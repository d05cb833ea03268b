"""Zones and role of the Nomad clients, from the EC2 instances that carry their tags."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from provider.ec2_client import AwsPlace, aws_client, caller
from provider.rpc.values import ProviderError
from settings import Problem, SettingsError


@dataclass(frozen=True)
class Clients:
    """What the clients' instances have in common."""

    zones: list[str]
    role: str


def clients(tags: dict[str, str], place: AwsPlace) -> Clients:
    """Zones (sorted) and role of the running instances with these tags; values may hold `*`. Raises SettingsError."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    try:
        account, arn = caller(place)
        if account != place.account_id:
            rule = f"the aws provider is in account {place.account_id}, but these credentials are of {account} ({arn})"
            raise _refused(tags, rule, "use the aws provider's credentials here too (AWS_PROFILE, aws:profile)")
        found = list(_instances(aws_client("ec2", place), tags))
        profiles = sorted({item["IamInstanceProfile"]["Arn"] for item in found if "IamInstanceProfile" in item})
        roles = _roles(aws_client("iam", place), profiles)
    except (BotoCoreError, ClientError, ProviderError) as error:
        remedy = "allow ec2:DescribeInstances and iam:GetInstanceProfile, or set clientRole and zones instead"
        raise _refused(tags, f"the clients' instances cannot be read ({error})", remedy) from None
    if not found:
        raise _refused(tags, "no running instance has these tags", "correct them, or start the clients")
    if len(roles) != 1:
        rule = f"the instances have {len(roles)} roles ({', '.join(roles) or 'none'})"
        raise _refused(tags, rule, "give them one instance profile, or set clientRole")
    return Clients(sorted({item["Placement"]["AvailabilityZone"] for item in found}), roles[0])


def complete(config: dict[str, Any], place: Callable[[], AwsPlace]) -> dict[str, Any]:
    """A configuration with what `clientTags` stands for filled in: the role, and the zones of sets that name none."""
    tags = config.get("clientTags")
    if not isinstance(tags, dict) or not tags:
        return config
    found = clients({str(key): str(value) for key, value in tags.items()}, place())
    volumes = [_with_zones(volume, found.zones) for volume in config.get("volumes") or []]
    return {"clientRole": found.role, **config, "volumes": volumes}


def _with_zones(volume: Any, zones: list[str]) -> Any:
    is_set = isinstance(volume, dict) and "count" in volume
    return {**volume, "zones": zones} if is_set and not volume.get("zone") and not volume.get("zones") else volume


def _instances(ec2: Any, tags: dict[str, str]) -> Iterable[dict[str, Any]]:
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in sorted(tags.items())]
    filters.append({"Name": "instance-state-name", "Values": ["running"]})
    for page in ec2.get_paginator("describe_instances").paginate(Filters=filters):
        for reservation in page["Reservations"]:
            yield from reservation["Instances"]


def _roles(iam: Any, profiles: list[str]) -> list[str]:
    names = [arn.rpartition("/")[2] for arn in profiles]
    found = [iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"] for name in names]
    return sorted({role["RoleName"] for roles in found for role in roles})


def _refused(tags: dict[str, str], rule: str, remedy: str) -> SettingsError:
    shown = ", ".join(f"{key}={value}" for key, value in sorted(tags.items()))
    return SettingsError([Problem("clientTags", shown, rule, remedy)])
