"""EBS volumes and the AWS account they are in."""
