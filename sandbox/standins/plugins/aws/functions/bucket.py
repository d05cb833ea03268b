"""aws:s3/getBucket: a bucket that exists already."""

from __future__ import annotations

from botocore.exceptions import ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.bucket import NO_BUCKET
from sandbox.standins.plugins.aws.errors import aws_errors, error_code
from sandbox.standins.plugins.aws.functions.function import AwsFunction

_UNPLACED = "us-east-1"


class Bucket(AwsFunction):
    """Looked up by name, in any region."""

    token = "aws:s3/getBucket:getBucket"
    arguments = ("bucket",)
    required = ("bucket",)

    def run(self, ctx: Context, args: Props) -> Props:
        name = str(args["bucket"])
        s3 = self.cloud.s3(self.cloud.config.region)
        with aws_errors(f"reading S3 Bucket ({name})"):
            try:
                s3.head_bucket(Bucket=name)
                region = s3.get_bucket_location(Bucket=name).get("LocationConstraint") or _UNPLACED
            except ClientError as error:
                if error_code(error) in NO_BUCKET:
                    raise ProviderError(f"couldn't find resource: there is no bucket '{name}'") from None
                raise
        return {
            "arn": self.cloud.arn("s3", "", "", name),
            "bucket": name,
            "bucketDomainName": f"{name}.s3.amazonaws.com",
            "bucketRegion": region,
            "bucketRegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
            "id": name,
        }
