"""What EC2 and IAM refuse beyond a volume's own limits: an account's quota, tags, and policies that are in use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sandbox.machine.errors import ApiError

STORAGE_QUOTA_GIB: Final = 50 * 1024
"""What a new account may have of each volume type in a region."""
_MODIFICATIONS_A_DAY: Final = 4
_DAY_S: Final = 24 * 3600.0
_MAX_TAGS: Final = 50
_MAX_TAG_KEY: Final = 128
_MAX_TAG_VALUE: Final = 256
_MOST_FILTER_VALUES: Final = 200
_RESERVED: Final = re.compile(r"aws:", re.IGNORECASE)

Original = Callable[..., Any]


def check_quota(volumes: Iterable[Any], volume_type: str, added_gib: int) -> None:
    """Raises ApiError when the account's volumes of a type would pass its quota."""
    used = sum(volume.size for volume in volumes if volume.volume_type == volume_type)
    if used + added_gib > STORAGE_QUOTA_GIB:
        raise ApiError(
            "VolumeLimitExceeded",
            f"You have exceeded your maximum {volume_type} storage limit of {STORAGE_QUOTA_GIB} GiB in this region",
        )


def check_modifications(earlier: Iterable[float], now: float) -> None:
    """Raises ApiError when a volume was modified too often in the 24 hours before `now`; both in seconds."""
    if sum(now - moment < _DAY_S for moment in earlier) >= _MODIFICATIONS_A_DAY:
        raise ApiError(
            "VolumeModificationRateExceeded",
            f"You've reached the maximum modification rate per volume limit: {_MODIFICATIONS_A_DAY} in 24 hours.",
        )


def filters(original: Original, request: Any) -> Any:
    """The filters of a Describe request: EC2 takes so many values in one call."""
    read = original(request)
    if sum(len(values) for values in read.values()) > _MOST_FILTER_VALUES:
        raise ApiError(
            "FilterLimitExceeded",
            f"The maximum number of filter values specified on a single call is {_MOST_FILTER_VALUES}",
        )
    return read


def create_volume(original: Original, request: Any) -> Any:
    """CreateVolume: bad tags are refused before there is a volume to tag."""
    for tags in request._parse_tag_specification().values():  # noqa: SLF001 - moto keeps the request to itself
        check_tags(tags)
    return original(request)


def create_tags(original: Original, backend: Any, resource_ids: list[str], tags: Mapping[str, str | None]) -> Any:
    """CreateTags, also of what is tagged when made: keys and values have a length, and some keys are AWS's own."""
    check_tags(tags)
    return original(backend, resource_ids, tags)


def check_tags(tags: Mapping[str, str | None]) -> None:
    """Raises ApiError for tags that EC2 does not take."""
    for key, value in tags.items():
        if _RESERVED.match(key):
            raise _invalid("Tag keys starting with 'aws:' are reserved for internal use")
        if len(key) > _MAX_TAG_KEY:
            raise _invalid(f"Tag key exceeds the maximum length of {_MAX_TAG_KEY} characters")
        if len(value or "") > _MAX_TAG_VALUE:
            raise _invalid(f"Tag value exceeds the maximum length of {_MAX_TAG_VALUE} characters")
    if len(tags) > _MAX_TAGS:
        raise ApiError("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")


def attach_role_policy(original: Original, backend: Any, policy_arn: str, role_name: str) -> Any:
    """AttachRolePolicy: what is attached already stays attached once, so that one detachment ends it."""
    if any(role.name == role_name and policy_arn in role.managed_policies for role in backend.roles.values()):
        return None
    return original(backend, policy_arn, role_name)


def delete_policy(original: Original, backend: Any, policy_arn: str) -> Any:
    """DeletePolicy: refused while the policy is attached to something or has versions besides the default one."""
    from moto.iam.exceptions import DeleteConflictException

    policy = backend.managed_policies.get(policy_arn)
    if policy is not None and policy.attachment_count > 0:
        raise DeleteConflictException("Cannot delete a policy attached to entities.")
    if policy is not None and len(policy.versions) > 1:
        raise DeleteConflictException(
            "This policy has more than one version. Before you delete a policy, you must delete the policy's versions."
        )
    return original(backend, policy_arn)


def _invalid(message: str) -> ApiError:
    return ApiError("InvalidParameterValue", message)
