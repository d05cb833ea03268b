"""aws:ec2/tag:Tag: one tag of something in EC2 that another stack, a driver or a person has made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.inputs import Field
from sandbox.standins.plugins.aws.resource import AwsResource, known
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_SEEN_TIMEOUT_S: Final = 60


class TagResource(AwsResource):
    """Its id is `<resource>,<key>`. As the official one, it takes over a tag that is there, whatever its value."""

    token = "aws:ec2/tag:Tag"
    regional = True
    fields: ClassVar = {
        "key": Field("string", required=True, replaces=True),
        "region": Field("string", computed=True, replaces=True),
        "resourceId": Field("string", required=True, replaces=True),
        "value": Field("string", required=True),
    }

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        if (key := known(inputs, "key")) is not None and (not key or key.startswith("aws:")):
            yield CheckFailure("key", f"({key}) a tag has a key, and those that start with aws: are AWS's own")

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        owner, key = inputs["resourceId"], inputs["key"]
        ec2 = self.cloud.ec2(self.region_of(inputs))
        with aws_errors(f"creating EC2 resource ({owner}) tag ({key})"):
            ec2.create_tags(Resources=[owner], Tags=[{"Key": key, "Value": inputs["value"]}])
            _await_seen(ctx, ec2, owner, key)
        return f"{owner},{key}", self.plain(inputs) | {"region": self.region_of(inputs)}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        owner, key = _parts(id)
        ec2 = self.cloud.ec2(self.region_of(inputs))
        with aws_errors(f"updating EC2 resource ({owner}) tag ({key})"):
            ec2.create_tags(Resources=[owner], Tags=[{"Key": key, "Value": inputs["value"]}])
        return self.plain(inputs) | {"region": self.region_of(inputs)}

    def find(self, id: str, state: Props) -> Props | None:
        owner, key = _parts(id)
        region = self.region_of(state)
        with aws_errors(f"reading EC2 resource ({owner}) tag ({key})"):
            value = _value(self.cloud.ec2(region), owner, key)
        if value is None:
            return None
        return {"id": id, "key": key, "region": region, "resourceId": owner, "value": value}

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        owner, key = _parts(id)
        with aws_errors(f"deleting EC2 resource ({owner}) tag ({key})"):
            # With its value, as the official one: a tag that has another by now stays.
            tag: Any = {"Key": key, "Value": state["value"]}
            self.cloud.ec2(self.region_of(state)).delete_tags(Resources=[owner], Tags=[tag])


def _await_seen(ctx: Context, ec2: EC2Client, owner: str, key: str) -> None:
    """EC2 answers from more than one place: a tag that was just given may not be seen yet."""

    def probe() -> None:
        if _value(ec2, owner, key) is None:
            raise NotYet("EC2 does not return the tag yet")

    wait_until(ctx, Wait(f"tag {key} of {owner} to be seen", "EC2 returns it", _SEEN_TIMEOUT_S), probe)


def _value(ec2: EC2Client, owner: str, key: str) -> str | None:
    filters: Any = [{"Name": "resource-id", "Values": [owner]}, {"Name": "key", "Values": [key]}]
    return next((tag.get("Value", "") for tag in ec2.describe_tags(Filters=filters)["Tags"]), None)


def _parts(id: str) -> tuple[str, str]:
    """Returns what is tagged, and the key."""
    owner, separator, key = id.partition(",")
    if not (owner and separator and key):
        raise ProviderError(f"unexpected id '{id}' of a tag: it has the form <resource id>,<key>")
    return owner, key
