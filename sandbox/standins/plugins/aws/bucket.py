"""aws:s3/bucket:Bucket: a bucket, without what other types set in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors, unless_gone
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, known
from sandbox.standins.plugins.aws.tags import from_aws, to_aws

NO_BUCKET: Final = ("NoSuchBucket", "404", "NotFound")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
UNPLACED: Final = "us-east-1"
"""The region whose buckets have no location constraint."""


class BucketResource(AwsResource):
    """Its name and region stay; deleted only while it is empty."""

    token = "aws:s3/bucket:Bucket"
    regional = True
    tagged = True
    autonamed = True
    named_by = "bucket"
    computed = frozenset({"arn", "bucketDomainName", "bucketRegion", "bucketRegionalDomainName"})
    fields: ClassVar = {
        "bucket": Field("string", computed=True, replaces=True),
        "bucketPrefix": Field("string", computed=True, replaces=True, fixed=True),
        "forceDestroy": Field("boolean", default=False, fixed=True),
        "region": Field("string", computed=True, replaces=True),
        "tags": Field("tags"),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        name = known(inputs, "bucket")
        if name is not None and not _NAME.fullmatch(name):
            yield CheckFailure("bucket", f"({name}) is no bucket's name: small letters, digits, '.' and '-'; 3 to 63")

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        name = inputs["bucket"]
        region = self.region_of(inputs)
        place: Any = {} if region == UNPLACED else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        with aws_errors(f"creating S3 Bucket ({name})"):
            self.cloud.s3(region).create_bucket(Bucket=name, **place)
            self._tag(name, inputs)
        return name, self.outputs_of(name, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        with aws_errors(f"updating S3 Bucket ({id})"):
            self._tag(id, inputs)
        return self.outputs_of(id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        region = self.region_of(state)
        s3 = self.cloud.s3(region)
        doing = f"reading S3 Bucket ({id})"
        if unless_gone(doing, lambda: s3.head_bucket(Bucket=id), NO_BUCKET) is None:
            return None
        tagging = unless_gone(doing, lambda: s3.get_bucket_tagging(Bucket=id), ("NoSuchTagSet",)) or {}
        return {
            **self.tag_outputs(from_aws(tagging.get("TagSet")), state),
            "arn": self.cloud.arn("s3", "", "", id),
            "bucket": id,
            "bucketDomainName": f"{id}.s3.amazonaws.com",
            "bucketPrefix": "",
            "bucketRegion": region,
            "bucketRegionalDomainName": f"{id}.s3.{region}.amazonaws.com",
            "forceDestroy": False,
            "id": id,
            "region": region,
        }

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        s3 = self.cloud.s3(self.region_of(state))
        unless_gone(f"deleting S3 Bucket ({id})", lambda: s3.delete_bucket(Bucket=id), NO_BUCKET)

    def _tag(self, name: str, inputs: Props) -> None:
        s3 = self.cloud.s3(self.region_of(inputs))
        if tags := inputs.get("tagsAll"):
            s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": to_aws(tags)})
        else:
            s3.delete_bucket_tagging(Bucket=name)
