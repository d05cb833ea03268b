"""The lookups (invokes) of the stand-in aws plugin."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Final

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Function, InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.bucket import NO_BUCKET, UNPLACED
from sandbox.standins.plugins.aws.clients import Cloud
from sandbox.standins.plugins.aws.ec2_volume import volume_values
from sandbox.standins.plugins.aws.errors import aws_errors, unless_gone
from sandbox.standins.plugins.aws.iam import NOT_FOUND, document_text
from sandbox.standins.plugins.aws.scope import not_implemented
from sandbox.standins.plugins.aws.tags import from_aws
from sandbox.standins.plugins.aws.times import rfc3339

_ZONE_STATES: Final = ("available", "constrained", "impaired", "information", "unavailable")


class AwsFunction(Function):
    """A lookup with declared arguments; any other argument is refused by name."""

    arguments: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]] = ()

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    @abstractmethod
    def run(self, ctx: Context, args: Props) -> Props:
        """Returns the result for arguments whose names are right and whose nulls are gone."""

    def invoke(self, ctx: Context, args: Props) -> Props:
        given = {name: value for name, value in args.items() if value is not None}
        for name in sorted(given.keys() - set(self.arguments)):
            raise InvokeFailure("", not_implemented(f"the argument '{name}' of {self.token}"))
        for name in self.required:
            if name not in given:
                raise InvokeFailure("", f"Missing required argument: {name} of {self.token}")
        return ctx.call(lambda: self.run(ctx, given))

    def the_one(self, kind: str, args: Props) -> Any:
        """Returns what matches the argument `filters` as EC2 describes it; `kind` is "Volumes" or "Snapshots"."""
        filters = [{"Name": item["name"], "Values": list(item["values"])} for item in args.get("filters") or []]
        ec2: Any = self.cloud.ec2(self.cloud.config.region)
        with aws_errors(f"reading EBS {kind}"):
            pages = ec2.get_paginator(f"describe_{kind.lower()}").paginate(Filters=filters)
            found = [one for page in pages for one in page[kind]]
        if not found:
            raise ProviderError("Your query returned no results. Please change your search criteria and try again.")
        if len(found) > 1:
            raise ProviderError(
                "Your query returned more than one result. Please try a more specific search criteria, "
                "or set `most_recent` attribute to true."
            )
        return found[0]

    def tags_of(self, found: Any) -> dict[str, str]:
        """Returns the tags of what AWS describes, without its own."""
        return self.cloud.config.tag_rules.all_shown(from_aws(found.get("Tags")))


class AvailabilityZones(AwsFunction):
    """The zones of the provider's region. Names and ids are both sorted by zone name: equal places belong together."""

    token = "aws:index/getAvailabilityZones:getAvailabilityZones"
    arguments = ("state",)

    def run(self, ctx: Context, args: Props) -> Props:
        state = args.get("state")
        if state and state not in _ZONE_STATES:
            raise InvokeFailure("state", f"expected state to be one of {', '.join(_ZONE_STATES)}, got {state}")
        region = self.cloud.config.region
        request: dict[str, Any] = {"Filters": [{"Name": "state", "Values": [state]}]} if state else {}
        with aws_errors("fetching Availability Zones"):
            answer = self.cloud.ec2(region).describe_availability_zones(**request)["AvailabilityZones"]
        zones = sorted(answer, key=lambda zone: str(zone["ZoneName"]))
        return args | {
            "groupNames": sorted({str(zone["GroupName"]) for zone in zones if zone.get("GroupName")}),
            "id": region,
            "names": [zone["ZoneName"] for zone in zones],
            "region": region,
            "zoneIds": [zone["ZoneId"] for zone in zones],
        }


class Bucket(AwsFunction):
    """A bucket that exists already, looked up by name, in any region."""

    token = "aws:s3/getBucket:getBucket"
    arguments = ("bucket",)
    required = ("bucket",)

    def run(self, ctx: Context, args: Props) -> Props:
        name = str(args["bucket"])
        s3 = self.cloud.s3(self.cloud.config.region)

        def locate() -> str:
            s3.head_bucket(Bucket=name)
            return s3.get_bucket_location(Bucket=name).get("LocationConstraint") or UNPLACED

        doing = f"reading S3 Bucket ({name})"
        region = unless_gone(doing, locate, NO_BUCKET)
        if region is None:
            raise ProviderError(f"{doing}: couldn't find resource: there is no bucket '{name}'")
        return {
            "arn": self.cloud.arn("s3", "", "", name),
            "bucket": name,
            "bucketDomainName": f"{name}.s3.amazonaws.com",
            "bucketRegion": region,
            "bucketRegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
            "id": name,
        }


class CallerIdentity(AwsFunction):
    """Who the provider's credentials are, asked of STS."""

    token = "aws:index/getCallerIdentity:getCallerIdentity"
    arguments = ()

    def run(self, ctx: Context, args: Props) -> Props:
        identity = self.cloud.identity()
        return {
            "accountId": identity["Account"],
            "arn": identity["Arn"],
            "id": identity["Account"],
            "userId": identity["UserId"],
        }


class Role(AwsFunction):
    """An IAM role that exists already, looked up by name."""

    token = "aws:iam/getRole:getRole"
    arguments = ("name",)
    required = ("name",)

    def run(self, ctx: Context, args: Props) -> Props:
        name = str(args["name"])
        iam, doing = self.cloud.iam(), f"reading IAM Role ({name})"
        role: Any = unless_gone(doing, lambda: iam.get_role(RoleName=name)["Role"], NOT_FOUND)
        if role is None:
            raise ProviderError(f"{doing}: couldn't find resource: the account has no role '{name}'")
        return {
            "arn": role["Arn"],
            "assumeRolePolicy": document_text(role.get("AssumeRolePolicyDocument")),
            "createDate": rfc3339(role["CreateDate"]),
            "description": role.get("Description") or "",
            "id": role["RoleName"],
            "maxSessionDuration": role.get("MaxSessionDuration") or 0,
            "name": role["RoleName"],
            "path": role.get("Path") or "/",
            "permissionsBoundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn", ""),
            "roleLastUseds": _last_used(role.get("RoleLastUsed")),
            "tags": self.tags_of(role),
            "uniqueId": role["RoleId"],
        }


def _last_used(used: Any) -> list[dict[str, str]]:
    if not used or not used.get("LastUsedDate"):
        return []
    return [{"lastUsedDate": rfc3339(used["LastUsedDate"]), "region": used.get("Region") or ""}]


class Snapshot(AwsFunction):
    """An EBS snapshot that exists already: exactly one, found by filters."""

    token = "aws:ebs/getSnapshot:getSnapshot"
    arguments = ("filters",)

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.cloud.config.region
        one = self.the_one("Snapshots", args)
        snapshot_id = str(one["SnapshotId"])
        return {
            **args,
            "arn": self.cloud.arn("ec2", region, "", f"snapshot/{snapshot_id}"),
            "dataEncryptionKeyId": one.get("DataEncryptionKeyId") or "",
            "description": one.get("Description") or "",
            "encrypted": bool(one.get("Encrypted")),
            "id": snapshot_id,
            "kmsKeyId": one.get("KmsKeyId") or "",
            "outpostArn": one.get("OutpostArn") or "",
            "ownerAlias": one.get("OwnerAlias") or "",
            "ownerId": one.get("OwnerId") or "",
            "region": region,
            "snapshotId": snapshot_id,
            "startTime": rfc3339(one["StartTime"]),
            "state": one["State"],
            "storageTier": one.get("StorageTier") or "standard",
            "tags": self.tags_of(one),
            "volumeId": one.get("VolumeId") or "",
            "volumeSize": one.get("VolumeSize") or 0,
        }


class Volume(AwsFunction):
    """An EBS volume that exists already: exactly one, found by filters."""

    token = "aws:ebs/getVolume:getVolume"
    arguments = ("filters",)

    def run(self, ctx: Context, args: Props) -> Props:
        region = self.cloud.config.region
        volume = self.the_one("Volumes", args)
        values = volume_values(volume)
        values["volumeType"] = values.pop("type")
        volume_id = str(volume["VolumeId"])
        return {
            **args,
            **values,
            "arn": self.cloud.arn("ec2", region, self.cloud.account_id(), f"volume/{volume_id}"),
            "id": volume_id,
            "region": region,
            "tags": self.tags_of(volume),
            "volumeId": volume_id,
        }


FUNCTIONS: Final = (AvailabilityZones, Bucket, CallerIdentity, Role, Snapshot, Volume)
