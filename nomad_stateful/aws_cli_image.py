"""The image of the AWS CLI that tasks run in containers, https://gallery.ecr.aws/aws-cli/aws-cli."""

from typing import Final

REPOSITORY: Final = "public.ecr.aws/aws-cli/aws-cli"
VERSION: Final = "2.31.0"
