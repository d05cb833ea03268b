"""A tag of something in EC2 that is not the stack's own."""

import importlib.metadata

import pulumi


class Ec2Tag(pulumi.CustomResource):
    """One tag, given to an EBS volume that Pulumi did not make, and taken off again.

    It is pulumi_aws.ec2.Tag, without that package: loading its types takes every preview another second.
    """

    def __init__(
        self, name: str, *, resource_id: pulumi.Input[str], key: str, value: str, opts: pulumi.ResourceOptions
    ) -> None:
        # The same version as of the SDK's resources: a default provider is one for each version.
        own = pulumi.ResourceOptions(version=importlib.metadata.version("pulumi-aws"))
        props = {"resourceId": resource_id, "key": key, "value": value}
        super().__init__("aws:ec2/tag:Tag", name, props, pulumi.ResourceOptions.merge(opts, own))
