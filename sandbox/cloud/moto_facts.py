"""Reads what the metadata service tells from moto's model of an instance."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any, Final

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from sandbox.machine import naming
from sandbox.machine.machine import MachineSpec
from sandbox.machine.metadata import InstanceFacts, timestamp

_SESSION_S: Final = 6 * 3600
# EC2 shows new credentials at least five minutes before the old ones end.
_RENEW_BEFORE: Final = timedelta(minutes=15)


def tags_of(instance: Any) -> dict[str, str]:
    """An instance's tags."""
    return {tag["key"]: tag["value"] for tag in instance.get_tags()}


def data_volumes(instance: Any) -> dict[str, str]:
    """Device name to volume id of everything attached, the root volume excepted."""
    mapping: Mapping[str, Any] = dict(instance.block_device_mapping)
    return {device: block.volume_id for device, block in mapping.items() if device != instance.root_device_name}


def user_data_of(instance: Any) -> str:
    """An instance's user data as text; empty when it has none."""
    return instance.user_data.decode() if instance.user_data else ""


def machine_spec(instance: Any) -> MachineSpec:
    """What the hypervisor has to build for an instance."""
    name = tags_of(instance).get("Name", "")
    return MachineSpec(
        instance_id=instance.id,
        name=name if naming.is_host_name(name) else instance.id,
        address=IPv4Address(instance.private_ip),
        mac=instance.nics[0].mac_address,
        dns_name=instance.private_dns_name,
        user_data=user_data_of(instance),
    )


def instance_facts(
    backend: Any, instance: Any, boot_devices: Mapping[str, str], notices: Mapping[str, str]
) -> InstanceFacts:
    """What the metadata service tells an instance about itself now."""
    profile = _profile(backend, instance)
    options = instance.metadata_options
    zone = backend.get_zone_by_name(instance.availability_zone)
    return InstanceFacts(
        instance_id=instance.id,
        image_id=instance.image_id,
        instance_type=instance.instance_type,
        architecture=instance.architecture,
        account_id=instance.owner_id,
        region=backend.region_name,
        zone=instance.availability_zone,
        zone_id=zone.zone_id if zone else "",
        private_ip=instance.private_ip,
        dns_name=instance.private_dns_name,
        mac=instance.nics[0].mac_address,
        launch_time=instance.launch_time,
        life_cycle=instance.lifecycle or "on-demand",
        profile=(profile.arn, profile.id) if profile else None,
        role_name=profile.roles[0].name if profile and profile.roles else None,
        boot_devices=boot_devices,
        tags=tags_of(instance) if options.instance_metadata_tags == "enabled" else None,
        user_data=user_data_of(instance) or None,
        endpoint_enabled=options.http_endpoint != "disabled",
        token_required=options.http_tokens == "required",
        hop_limit=options.http_put_response_hop_limit,
        notices=notices,
    )


class RoleCredentials:
    """Temporary credentials of instances' roles, made by STS and renewed before they end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], tuple[Any, datetime]] = {}

    def document(self, backend: Any, instance: Any) -> str:
        """The answer of iam/security-credentials/<role>."""
        profile = _profile(backend, instance)
        if profile is None or not profile.roles:
            return json.dumps({"Code": "AssumeRoleUnauthorizedAccess", "Message": "the instance has no role"})
        session, issued = self._session(backend, instance.id, profile.roles[0].arn)
        document = {
            "Code": "Success",
            "LastUpdated": timestamp(issued),
            "Type": "AWS-HMAC",
            "AccessKeyId": session.access_key_id,
            "SecretAccessKey": session.secret_access_key,
            "Token": session.session_token,
            "Expiration": timestamp(session.expiration),
        }
        return json.dumps(document, indent=2)

    def _session(self, backend: Any, instance_id: str, role_arn: str) -> tuple[Any, datetime]:
        now = datetime.now(UTC).replace(tzinfo=None)
        with self._lock:
            held = self._sessions.get((instance_id, role_arn))
            if held is None or held[0].expiration.replace(tzinfo=None) - now < _RENEW_BEFORE:
                session = sts_backends[backend.account_id][backend.partition].assume_role(
                    region_name=backend.region_name,
                    role_session_name=instance_id,
                    role_arn=role_arn,
                    policy="",
                    duration=_SESSION_S,
                    external_id="",
                )
                held = self._sessions[instance_id, role_arn] = (session, now)
            return held


class KnownResources:
    """What moto knows of resources, read without its filters: every call is asked about."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def tags(self, resource_id: str) -> dict[str, str]:
        """Tags of a resource; none when there is no such resource."""
        return dict(self._backend.tags.get(resource_id, {}))

    def attached_to(self, volume_id: str) -> str:
        """Id of the instance a volume is attached to, or ""."""
        volume = self._backend.volumes.get(volume_id)
        return str(volume.attachment.instance.id) if volume and volume.attachment else ""


def trusts_lifecycle_manager(role_arn: str, account_id: str) -> bool:
    """Whether there is a role of that ARN, which Data Lifecycle Manager may assume."""
    roles = iam_backends[account_id]["aws"].roles.values()
    found = next((role for role in roles if role.arn == role_arn), None)
    return found is not None and "dlm.amazonaws.com" in str(found.assume_role_policy_document)


def caller_of(access_key_id: str, account_id: str) -> str:
    """Whom an access key belongs to: role/session for temporary credentials, "" for any other key."""
    session = sts_backends[account_id]["aws"].get_assumed_role_from_access_key(access_key_id)
    return "" if session is None else f"{session.role_arn.rpartition('/')[2]}/{session.session_name}"


def _profile(backend: Any, instance: Any) -> Any:
    association = backend.iam_instance_profile_associations.get(instance.id)
    if association is None:
        return None
    # The profile's roles can change after the association was made.
    profiles = iam_backends[backend.account_id][backend.partition].instance_profiles
    return next((profile for profile in profiles.values() if profile.arn == association.iam_instance_profile.arn), None)
