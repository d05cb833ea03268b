"""The IAM permissions of a CSI driver."""

from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_aws.iam import Policy, RolePolicyAttachment  # loaded here, while the plugins start

from nomad_stateful.components.component_type import Component


class DriverPolicyArgs(TypedDict):
    """Inputs of DriverPolicy."""

    role: pulumi.Input[str]
    """Name of the IAM role whose instances run the driver."""
    policy: pulumi.Input[dict[str, Any]]
    """The IAM policy document."""
    description: str
    """What the policy is for."""
    path: NotRequired[str]
    """IAM path of the policy, by which it can be told from others'; it counts when the policy is made."""


class DriverPolicy(Component):
    """An IAM policy with the least a driver needs, attached to the role of the Nomad clients."""

    policy_arn: pulumi.Output[str]
    """ARN of the policy."""

    def __init__(self, name: str, args: DriverPolicyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("DriverPolicy", name, opts)
        child = pulumi.ResourceOptions(parent=self)
        policy = Policy(
            f"{name}-policy",
            description=args["description"],
            policy=pulumi.Output.json_dumps(args["policy"], sort_keys=True),
            path=args.get("path"),
            # Another path would be another policy, and for a moment the role had neither.
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["path"]),
        )
        attachment = RolePolicyAttachment(f"{name}-attachment", role=args["role"], policy_arn=policy.arn, opts=child)
        self.policy_arn = attachment.policy_arn
        self.register_outputs({"policy_arn": self.policy_arn})
