"""Settings of the copies of a database's dumps and logs in S3."""

import re
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import Earlier, Section

KEEP_DAYS = 35
"""How long a bucket that the program makes keeps a dump."""
LONGEST_DAYS = 36_500
_REGION = r"^[a-z]+(-[a-z]+)+-[0-9]$"
_KEY_ARN = r"^arn:aws(-[a-z]{1,3}){0,2}:kms:[a-z]+(-[a-z]+)+-[0-9]:[0-9]{12}:key/[0-9A-Za-z-]+$"


class ObjectLock(Section):
    """S3 Object Lock: a copy cannot be deleted before its day."""

    mode: Literal["GOVERNANCE", "COMPLIANCE"] = Field(
        description="COMPLIANCE: nobody deletes a copy before its day, not even the account's root. GOVERNANCE: "
        "s3:BypassGovernanceRetention allows it."
    )
    days: int = Field(
        ge=1,
        le=LONGEST_DAYS,
        description="Days for which a copy is locked, and paid; at most keepDays. Fewer days apply to later copies "
        "only.",
    )


class DumpBucket(Section):
    """A copy of each dump in S3, outside of the volume's zone."""

    earlier: ClassVar = {
        "image": Earlier(
            "the agent copies, in place of the AWS CLI, and its image is named once for all of a stack",
            "remove it, and set agentImage (docs/agent.md)",
        )
    }

    bucket: str | None = Field(
        None,
        # https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
        pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
        description="Name of a bucket that exists. Without it the program makes one, which no `destroy` deletes.",
        json_schema_extra={"rule": "must be the name of an S3 bucket: small letters, digits, . and -; 3 to 63 of them"},
    )
    prefix: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*/$",
        max_length=256,
        description="Prefix of the dumps' keys; `PROJECT/STACK/` if left out.",
        json_schema_extra={"rule": "must be folders that end in /, such as shop/prod/"},
    )
    region: str | None = Field(
        None,
        pattern=_REGION,
        description="Region of the bucket; the stack's if left out.",
        json_schema_extra={"rule": "must be the name of a region, such as eu-central-1"},
    )
    keep_days: int | None = Field(
        None,
        ge=1,
        le=LONGEST_DAYS,
        description=f"Days that the bucket which the program makes keeps a dump, {KEEP_DAYS} if left out. What a given "
        "bucket keeps, its own lifecycle says.",
    )
    object_lock: ObjectLock | None = Field(
        None,
        description="Object Lock of the bucket that the program makes, for later copies; none if left out. It can be "
        "removed neither from a copy nor from the bucket.",
    )
    kms_key_arn: str | None = Field(
        None,
        pattern=_KEY_ARN,
        description="KMS key that the bucket encrypts with, in its region; without it S3's own keys.",
        json_schema_extra={"rule": "must be the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID, not of an alias"},
    )
    endpoint: str = Field(
        "",
        pattern=r"^(https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?)?$",
        description="S3 endpoint for the clients, such as a VPC endpoint; the region's own if left out. With "
        "`http://` the bucket that the program makes takes requests without TLS.",
        json_schema_extra={"rule": "must be https://HOST, with a port if need be"},
    )
    memory_mib: int = Field(256, ge=64, le=65_536, description="Memory of the agent that copies, in MiB.")

    @model_validator(mode="after")
    def _check(self) -> "DumpBucket":
        if self.bucket is not None:
            _check_given(self, self.bucket)
        keep = self.keep_days or KEEP_DAYS
        if self.object_lock and self.object_lock.days > keep:
            rule = f"a copy expires after keepDays, {keep}, and would be stored and paid until it is unlocked"
            remedy = f"set keepDays to {self.object_lock.days}, or days to {keep} at most"
            raise Refusal("objectLock.days", str(self.object_lock.days), rule, remedy)
        key_region = self.kms_key_arn.split(":")[3] if self.kms_key_arn else None
        if key_region and self.region and key_region != self.region:
            rule = f"the bucket is in {self.region}, and S3 encrypts with keys of its region"
            raise Refusal("kmsKeyArn", self.kms_key_arn, rule, f"name a key of {self.region}")
        return self


def _check_given(given: DumpBucket, bucket: str) -> None:
    if ".." in bucket or re.fullmatch(r"[0-9]+(\.[0-9]+){3}", bucket):
        raise Refusal("bucket", bucket, "S3 takes no name with .. and none like an address", "correct the name")
    if given.keep_days is not None:
        rule = "the bucket is given, and its own lifecycle says what it keeps"
        remedy = "leave keepDays out, or leave bucket out to have one made"
        raise Refusal("keepDays", str(given.keep_days), rule, remedy)
    if given.object_lock is not None:
        raise Refusal(
            "objectLock",
            f"{given.object_lock.mode}, {given.object_lock.days} days",
            "the bucket is given, and whoever owns it decides what is locked in it",
            "leave objectLock out and lock the bucket by `aws s3api put-object-lock-configuration`, which needs its "
            "versioning, or leave bucket out to have one made",
        )


class PointInTime(Section):
    """The server's logs in S3, at most a minute behind."""

    s3: DumpBucket = Field(description="The bucket of the logs, which are below `binlogs/` of the prefix.")
    interval_s: int = Field(
        30,
        ge=5,
        le=45,
        description="How often a log with transactions is closed and copied, in seconds. A lost volume costs at most "
        "that time and one upload.",
    )
