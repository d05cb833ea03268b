"""Role and zones of the Nomad clients, from their EC2 instances, and the zones of sets of volumes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client, caller
from nomad_stateful.ebs.filters import described
from nomad_stateful.errors import ProviderError
from nomad_stateful.program.prefetch import Prefetch
from nomad_stateful.program.preflight import answers, stack_state
from nomad_stateful.program.settings import Problem, Settings, SettingsError, stack_config
from nomad_stateful.program.settings.volume import LARGEST_SET


@dataclass(frozen=True)
class Clients:
    """What the clients' instances have in common."""

    zones: list[str]
    role: str


def load(prefetch: Prefetch) -> Settings:
    """Returns the stack's settings, with what they leave to AWS and to the volumes that exist. Raises SettingsError."""
    return stack_config.load(
        lambda config: complete(config, lambda: answers.place(prefetch), lambda: stack_state.volume_zones(prefetch))
    )


def clients(tags: dict[str, str], place: AwsPlace) -> Clients:
    """Returns zones and role of the running instances with these tags, which may hold `*`. Raises SettingsError."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        account, arn = caller(place)
        if account != place.account_id:
            rule = f"the aws provider is in account {place.account_id}, but these credentials are of {account} ({arn})"
            raise _refused(tags, rule, "use the aws provider's credentials here too (AWS_PROFILE, aws:profile)")
        found = _instances(aws_client("ec2", place), tags)
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


def complete(
    config: dict[str, Any], place: Callable[[], AwsPlace], existing: Callable[[], dict[str, str]]
) -> dict[str, Any]:
    """Returns a configuration with the role that `clientTags` stands for, and the zone of each volume of each set.

    `existing` gives the zones of the volumes that exist, by id: they stay there. Raises SettingsError.
    """
    tags, zones = config.get("clientTags"), []
    if isinstance(tags, dict) and tags:
        found = clients({str(key): str(value) for key, value in tags.items()}, place())
        zones, config = found.zones, {"clientRole": found.role, **config}
    volumes = config.get("volumes")
    if not isinstance(volumes, list) or not any(_is_set(volume) for volume in volumes):
        return config
    known = existing()
    placed = [
        _placed(volume, zones if _is_zonal(config, volume) else [], known) if _is_set(volume) else volume
        for volume in volumes
    ]
    return {**config, "volumes": placed}


def _is_set(volume: Any) -> bool:
    """Returns whether it is a set to spread over zones; what is malformed is left to the settings to refuse."""
    if not isinstance(volume, dict) or volume.get("zone"):
        return False
    return isinstance(volume.get("count"), int) and 0 < volume["count"] <= LARGEST_SET


def _is_zonal(config: dict[str, Any], volume: dict[str, Any]) -> bool:
    """Returns whether the volume's driver binds volumes to zones; where that is not certain, the settings refuse it."""
    plugins = [one for one in config.get("plugins") or [] if isinstance(one, dict)]
    named = [one for one in plugins if one.get("id") == volume.get("plugin")] or plugins[:1]
    driver = DRIVERS.get(str(named[0].get("driver"))) if named else None
    return driver is None or driver.zonal


def _placed(volume: dict[str, Any], found: list[str], known: dict[str, str]) -> dict[str, Any]:
    """Returns the set with a zone for each of its volumes, in their order.

    Without `zones` of its own a volume that exists keeps its zone, also where no client runs at the moment. A zone
    that was taken out of `zones` is for the guard to refuse: it knows whether the volume was ever made.
    """
    chosen = volume.get("zones")
    zones = chosen or found
    if not isinstance(zones, list) or not zones or not all(isinstance(zone, str) for zone in zones):
        return volume
    known = _under_new_names(volume, known)
    names = [f"{volume.get('name')}[{index}]" for index in range(volume["count"])]
    kept = {name: known[name] for name in names if name in known and (not chosen or known[name] in zones)}
    return {**volume, "zones": spread(names, zones, kept)}


def _under_new_names(volume: dict[str, Any], known: dict[str, str]) -> dict[str, str]:
    """Returns the zones with those of a set that is renamed, or was a single volume, by the ids that it has now."""
    name = volume.get("name")
    names = [one for one in (name, volume.get("renamedFrom")) if isinstance(one, str)]
    found: dict[str, str] = {}
    for index in range(volume["count"]):
        # Its own id counts first.
        ids = [*(f"{one}[{index}]" for one in names), *(names if index == 0 else [])]
        zones = [known[one] for one in ids if one in known]
        found |= {f"{name}[{index}]": zone for zone in zones[:1]}
    return known | found


def spread(names: list[str], zones: list[str], kept: dict[str, str]) -> list[str]:
    """Returns a zone for each name: its own where it is kept, else the next in turn that has none yet.

    Of zones ["a", "b"] the turns are a, b, a, b, ...; each volume that is kept takes the first free turn of its zone,
    so that a zone which is new gets the next volumes, and none that exists moves.
    """
    taken = Counter(zone for name, zone in kept.items() if name in names)
    turns = (zone for zone in cycle(zones) if not _take(taken, zone))
    return [kept[name] if name in kept else next(turns) for name in names]


def _take(taken: Counter[str], zone: str) -> bool:
    if taken[zone] < 1:
        return False
    taken[zone] -= 1
    return True


def _instances(ec2: Any, tags: dict[str, str]) -> list[dict[str, Any]]:
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in sorted(tags.items())]
    filters.append({"Name": "instance-state-name", "Values": ["running"]})
    return described(ec2, "Instances", [filters])


def _roles(iam: Any, profiles: list[str]) -> list[str]:
    names = [arn.rpartition("/")[2] for arn in profiles]
    found = [iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"] for name in names]
    return sorted({role["RoleName"] for roles in found for role in roles})


def _refused(tags: dict[str, str], rule: str, remedy: str) -> SettingsError:
    shown = ", ".join(f"{key}={value}" for key, value in sorted(tags.items()))
    return SettingsError([Problem("clientTags", shown, rule, remedy)])
