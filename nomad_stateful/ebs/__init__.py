"""EBS volumes and snapshots, and the AWS account they are in."""
