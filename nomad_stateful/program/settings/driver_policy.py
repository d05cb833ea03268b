"""The IAM policies of the drivers that a configuration asks for, and whether IAM takes one of that size."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nomad_stateful.drivers import ebs_policy, efs_policy
from nomad_stateful.drivers.model import parse_version
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.plugin import Plugin
from nomad_stateful.program.settings.volume import Volume

LARGEST_CHARACTERS = 6144
"""Of a managed policy, white space left out: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
_LONGEST_SCOPE = {"partition": "aws-us-gov", "region": "ap-southeast-99", "account_id": "0" * 12}


@dataclass(frozen=True)
class EbsPolicy:
    """What the EBS driver has to be allowed."""

    modes: list[str]
    kms_key_arns: list[str]
    version: str
    """Of the driver, the newest that runs."""

    def document(self, **scope: str) -> dict[str, Any]:
        """Returns the policy for resources of an account and region."""
        modes = [ebs_policy.Mode(mode) for mode in self.modes]
        return ebs_policy.policy(modes, kms_key_arns=self.kms_key_arns, version=self.version, **scope)


@dataclass(frozen=True)
class EfsPolicy:
    """What the EFS driver has to be allowed."""

    modes: list[str]

    def document(self, **scope: str) -> dict[str, Any] | None:
        """Returns the policy for resources of an account and region; None where it needs none."""
        return efs_policy.policy([efs_policy.Mode(mode) for mode in self.modes], **scope)


def of_ebs(plugins: Iterable[Plugin], volumes: Iterable[Volume]) -> EbsPolicy | None:
    """Returns what the EBS volumes of a configuration need; None where the stack runs no plugin of the driver."""
    own, used = [plugin for plugin in plugins if plugin.driver == "ebs" and not plugin.existing], list(volumes)
    if not own:
        return None
    modes = ebs_policy.modes_for(
        used, snapshots=any(plugin.snapshots for plugin in own), clones=any(plugin.clones for plugin in own)
    )
    newest = max((plugin.pinned_version for plugin in own), key=parse_version)
    return EbsPolicy(sorted(mode.value for mode in modes), _keys(used), newest)


def of_efs(plugins: Iterable[Plugin], volumes: Iterable[Volume]) -> EfsPolicy | None:
    """Returns what the EFS volumes of a configuration need; None where the stack runs no plugin of the driver."""
    if all(plugin.existing for plugin in plugins if plugin.driver == "efs"):
        return None
    dynamic = any(volume.provision == "plugin" for volume in volumes)
    return EfsPolicy([efs_policy.Mode.DYNAMIC.value] if dynamic else [])


def check_size(plugins: Iterable[Plugin], volumes: Iterable[Volume]) -> None:
    """Raises Refusal where so many KMS keys are named that IAM would refuse the policy, wherever the stack is."""
    policy = of_ebs(plugins, volumes)
    if policy is None:
        return
    size = len(json.dumps(policy.document(**_LONGEST_SCOPE), separators=(",", ":")))
    if size > LARGEST_CHARACTERS:
        rule = f"the driver's IAM policy would have {size} characters, and IAM takes {LARGEST_CHARACTERS}"
        remedy = "use one kmsKeyArn for several volumes"
        raise Refusal("volumes", f"{len(set(policy.kms_key_arns))} KMS keys", rule, remedy)


def _keys(volumes: Iterable[Volume]) -> list[str]:
    keys = [volume.kms_key_arn or volume.parameters.get("kmsKeyId", "") for volume in volumes]
    return [key for key in keys if key.startswith("arn:")]
