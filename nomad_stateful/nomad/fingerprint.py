"""Attributes of a Nomad client from the EC2 instance that it runs on.

https://developer.hashicorp.com/nomad/docs/job-specification/constraint#platform-aws
"""

ZONE_ATTRIBUTE = "platform.aws.placement.availability-zone"
"""The attribute of a client that names its availability zone."""
ZONE_REFERENCE = f"${{attr.{ZONE_ATTRIBUTE}}}"
"""The same in a job's constraint."""
INSTANCE_ATTRIBUTE = "unique.platform.aws.instance-id"
"""The attribute of a client that names its EC2 instance."""
