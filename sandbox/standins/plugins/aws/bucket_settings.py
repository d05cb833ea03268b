"""What the aws plugin sets in a bucket, a type each: versioning, Object Lock, encryption, public access, policy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import policy_json
from sandbox.standins.plugins.aws.bucket import NO_BUCKET
from sandbox.standins.plugins.aws.errors import aws_errors, unless_gone
from sandbox.standins.plugins.aws.inputs import Field, is_zero
from sandbox.standins.plugins.aws.resource import AwsResource, known

_ABSENT: Final = (
    *NO_BUCKET,
    "NoSuchBucketPolicy",
    "NoSuchLifecycleConfiguration",
    "ObjectLockConfigurationNotFoundError",
    "NoSuchPublicAccessBlockConfiguration",
    "ServerSideEncryptionConfigurationNotFoundError",
)
_SPELT: Final = {"id": "ID", "sseAlgorithm": "SSEAlgorithm", "kmsMasterKeyId": "KMSMasterKeyID"}
_READ: Final = {aws: name for name, aws in _SPELT.items()}
_BUCKET: Final = {
    "bucket": Field("string", required=True, replaces=True),
    "region": Field("string", computed=True, replaces=True),
}


class BucketSetting(AwsResource):
    """Put and replaced as a whole; its id is the bucket's name."""

    regional = True
    what: ClassVar[str]

    @abstractmethod
    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        """Sets it."""

    @abstractmethod
    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        """Returns what is set, None where nothing is."""

    @abstractmethod
    def remove(self, s3: Any, bucket: str) -> None:
        """Takes it back."""

    def same(self, name: str, old: Any, new: Any) -> bool:
        return bool(_plain(old) == _plain(new))

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        bucket = inputs["bucket"]
        return bucket, self.update(ctx, bucket, {}, {}, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        with aws_errors(f"putting S3 Bucket ({id}) {self.what}"):
            self.put(self.cloud.s3(self.region_of(inputs)), id, inputs)
        return self.outputs_of(id, inputs)

    def find(self, id: str, state: Props) -> Props | None:
        region = self.region_of(state)
        s3 = self.cloud.s3(region)
        found = unless_gone(f"reading S3 Bucket ({id}) {self.what}", lambda: self.get(s3, id, state), _ABSENT)
        return None if found is None else {**found, "bucket": id, "id": id, "region": region}

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        s3 = self.cloud.s3(self.region_of(state))
        unless_gone(f"deleting S3 Bucket ({id}) {self.what}", lambda: self.remove(s3, id), _ABSENT)


class VersioningResource(BucketSetting):
    """A bucket that was versioned once can only suspend it."""

    token = "aws:s3/bucketVersioning:BucketVersioning"
    what = "Versioning"
    fields: ClassVar = {**_BUCKET, "versioningConfiguration": Field("object", required=True)}

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        status = (known(inputs, "versioningConfiguration") or {}).get("status")
        if isinstance(status, str) and status not in ("Enabled", "Suspended", "Disabled"):
            yield CheckFailure("versioningConfiguration.status", f"versioningConfiguration: no status '{status}'")

    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        status = inputs["versioningConfiguration"]["status"]
        if status != "Disabled":
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})

    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        s3.head_bucket(Bucket=bucket)
        status = s3.get_bucket_versioning(Bucket=bucket).get("Status")
        return {"versioningConfiguration": {"status": status}} if status else None

    def remove(self, s3: Any, bucket: str) -> None:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})


class ObjectLockResource(BucketSetting):
    """What new objects are locked for; a bucket that has it once has it for good, and deletion takes the rule alone."""

    token = "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration"
    what = "Object Lock Configuration"
    fields: ClassVar = {
        **_BUCKET,
        "objectLockEnabled": Field("string", default="Enabled", replaces=True),
        "rule": Field("object"),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        retention = (known(inputs, "rule") or {}).get("defaultRetention") or {}
        mode = retention.get("mode")
        if isinstance(mode, str) and mode not in ("GOVERNANCE", "COMPLIANCE"):
            yield CheckFailure("rule.defaultRetention.mode", f"rule: no mode '{mode}'")
        if retention.get("days") and retention.get("years"):
            yield CheckFailure("rule.defaultRetention", "rule: days and years exclude each other")

    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        wanted = {name: inputs[name] for name in ("objectLockEnabled", "rule") if inputs.get(name)}
        s3.put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration=_to_aws(wanted))

    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        found = _from_aws(s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"])
        rule = {"rule": _plain(found["rule"])} if found.get("rule") else {}
        return {"objectLockEnabled": found["objectLockEnabled"], **rule}

    def remove(self, s3: Any, bucket: str) -> None:
        s3.put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled"})


class EncryptionResource(BucketSetting):
    """What objects are encrypted with that name nothing."""

    token = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    what = "Server-side Encryption Configuration"
    fields: ClassVar = {**_BUCKET, "rules": Field("list", required=True)}

    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        s3.put_bucket_encryption(
            Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [_to_aws(one) for one in inputs["rules"]]}
        )

    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        found = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
        return {"rules": [_from_aws(one) for one in found]}

    def remove(self, s3: Any, bucket: str) -> None:
        s3.delete_bucket_encryption(Bucket=bucket)


class PublicAccessBlockResource(BucketSetting):
    """Four switches."""

    token = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
    what = "Public Access Block"
    switches: ClassVar = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    fields: ClassVar = {
        **_BUCKET,
        **dict.fromkeys(switches, Field("boolean", default=False)),
        "skipDestroy": Field("boolean"),
    }

    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        wanted = {_aws_name(name): bool(inputs.get(name)) for name in self.switches}
        s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=wanted)

    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        found = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
        kept = {"skipDestroy": state["skipDestroy"]} if "skipDestroy" in state else {}
        return {**kept, **{name: bool(found.get(_aws_name(name))) for name in self.switches}}

    def remove(self, s3: Any, bucket: str) -> None:
        s3.delete_public_access_block(Bucket=bucket)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        if not state.get("skipDestroy"):
            super().delete(ctx, id, state)


class BucketLifecycleResource(BucketSetting):
    """Rules by which objects expire."""

    token = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
    what = "Lifecycle Configuration"
    fields: ClassVar = {**_BUCKET, "rules": Field("list")}

    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        rules = [_to_aws(one) for one in inputs.get("rules") or []]
        s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})

    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        found = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
        return {"rules": [_from_aws(one) for one in found]}

    def remove(self, s3: Any, bucket: str) -> None:
        s3.delete_bucket_lifecycle(Bucket=bucket)


class BucketPolicyResource(BucketSetting):
    """The bucket's own policy."""

    token = "aws:s3/bucketPolicy:BucketPolicy"
    what = "Policy"
    fields: ClassVar = {**_BUCKET, "policy": Field("policy", required=True)}

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        text = known(inputs, "policy")
        if text is not None and (reason := policy_json.problem(text)):
            yield CheckFailure("", f'"policy" {reason}')

    def same(self, name: str, old: Any, new: Any) -> bool:
        return policy_json.equivalent(old, new) if name == "policy" else bool(old == new)

    def put(self, s3: Any, bucket: str, inputs: Props) -> None:
        s3.put_bucket_policy(Bucket=bucket, Policy=policy_json.normalise(inputs["policy"]))

    def get(self, s3: Any, bucket: str, state: Props) -> Props | None:
        shown = policy_json.kept(state.get("policy"), s3.get_bucket_policy(Bucket=bucket)["Policy"])
        return {"policy": policy_json.normalise(shown)}

    def remove(self, s3: Any, bucket: str) -> None:
        s3.delete_bucket_policy(Bucket=bucket)


SETTINGS: Final = (
    VersioningResource,
    ObjectLockResource,
    EncryptionResource,
    PublicAccessBlockResource,
    BucketLifecycleResource,
    BucketPolicyResource,
)


def _aws_name(name: str) -> str:
    return _SPELT.get(name) or name[0].upper() + name[1:]


def _to_aws(value: Any) -> Any:
    """Returns a value with its keys as S3 writes them."""
    if isinstance(value, dict):
        return {_aws_name(key): _to_aws(item) for key, item in value.items()}
    return [_to_aws(item) for item in value] if isinstance(value, list) else value


def _from_aws(value: Any) -> Any:
    if isinstance(value, dict):
        return {_READ.get(key) or key[0].lower() + key[1:]: _from_aws(item) for key, item in value.items()}
    return [_from_aws(item) for item in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """Returns a value without what is as if it were not set."""
    if isinstance(value, dict):
        plain = {key: _plain(item) for key, item in value.items()}
        return {key: item for key, item in plain.items() if not is_zero(item)}
    return [_plain(item) for item in value] if isinstance(value, list) else value
