"""The EBS driver's IAM policy that a configuration asks for, and whether IAM takes one of that size."""

import json
from collections.abc import Iterable
from typing import Any

from nomad_stateful.drivers import ebs_policy
from nomad_stateful.drivers.model import parse_version
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.plugin import Plugin
from nomad_stateful.program.settings.volume import Volume

LARGEST_CHARACTERS = 6144
"""Of a managed policy, white space left out: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
_LONGEST_SCOPE = {"partition": "aws-us-gov", "region": "ap-southeast-99", "account_id": "0" * 12}


def of_ebs(plugins: Iterable[Plugin], volumes: Iterable[Volume], **scope: str) -> dict[str, Any] | None:
    """Returns the policy for the EBS volumes of a configuration; None where the stack runs no plugin of the driver."""
    own, used = [plugin for plugin in plugins if plugin.driver == "ebs" and not plugin.existing], list(volumes)
    if not own:
        return None
    modes = ebs_policy.modes_for(
        used, snapshots=any(plugin.snapshots for plugin in own), clones=any(plugin.clones for plugin in own)
    )
    newest = max((plugin.pinned_version for plugin in own), key=parse_version)
    return ebs_policy.policy(modes, kms_key_arns=_keys(used), version=newest, **scope)


def check_size(plugins: Iterable[Plugin], volumes: Iterable[Volume]) -> None:
    """Raises Refusal where so many KMS keys are named that IAM would refuse the policy, wherever the stack is."""
    used = list(volumes)
    policy = of_ebs(plugins, used, **_LONGEST_SCOPE)
    size = len(json.dumps(policy, separators=(",", ":")))
    if policy is not None and size > LARGEST_CHARACTERS:
        raise Refusal(
            "volumes",
            f"{len(set(_keys(used)))} KMS keys",
            f"the driver's IAM policy would have {size} characters, and IAM takes {LARGEST_CHARACTERS}",
            "use one kmsKeyArn for several volumes",
        )


def _keys(volumes: Iterable[Volume]) -> list[str]:
    keys = [volume.kms_key_arn or volume.parameters.get("kmsKeyId", "") for volume in volumes]
    return [key for key in keys if key.startswith("arn:")]
