"""Settings of a volume's scheduled snapshots, which Data Lifecycle Manager takes: its schedules, and their copies."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from nomad_stateful.program.settings import schedule
from nomad_stateful.program.settings import tags as ec2_tags
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import Identifier, PlainText, Section

MOST_SCHEDULES = 4
"""Of a policy: https://docs.aws.amazon.com/dlm/latest/APIReference/API_PolicyDetails.html"""
MOST_COPIES = 3
MOST_KEPT = 1000
LONGEST_DAYS = 36_500
# A policy takes no alias: https://docs.aws.amazon.com/dlm/latest/APIReference/API_CrossRegionCopyRule.html
_KEY_ARN = r"^arn:aws(-[a-z]{1,3}){0,2}:kms:[a-z]+(-[a-z]+)+-[0-9]:[0-9]{12}:key/[0-9A-Za-z-]+$"
_REGION = r"^[a-z]+(-[a-z]+)+-[0-9]$"
_RESERVED = frozenset({"Name"})
_RESERVED_PREFIXES = ("dlm:", "nomad-stateful-", "ebs.csi.aws.com/")


def _takes(text: str) -> str:
    to_aws(text)
    return text


Schedule = Annotated[str, AfterValidator(schedule.check), AfterValidator(_takes)]


class SnapshotCopy(Section):
    """A copy of each snapshot of a schedule in another region."""

    region: str = Field(
        pattern=_REGION,
        description="Region that each snapshot is copied to.",
        json_schema_extra={"rule": "must be the name of a region, such as eu-central-1"},
    )
    keep_days: int = Field(ge=1, le=LONGEST_DAYS, description="How many days a copy is kept; it has no count.")
    encrypted: bool = Field(True, description="Encrypt the copies; those of an encrypted volume always are.")
    kms_key_arn: str | None = Field(
        None,
        pattern=_KEY_ARN,
        description="KMS key of that region; without it the account's default EBS key there is used.",
        json_schema_extra={"rule": "must be the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID, not of an alias"},
    )

    @model_validator(mode="after")
    def _check(self) -> "SnapshotCopy":
        if self.kms_key_arn is None:
            return self
        if not self.encrypted:
            raise Refusal(
                "kmsKeyArn", self.kms_key_arn, "needs encrypted copies", "set encrypted: true, or remove the key"
            )
        if (region := self.kms_key_arn.split(":")[3]) != self.region:
            raise Refusal(
                "kmsKeyArn", self.kms_key_arn, f"is a key of {region}", f"use one of {self.region}, where the copy is"
            )
        return self


class SnapshotSchedule(Section):
    """When snapshots of a volume are taken, and how many are kept or how long."""

    name: Identifier = Field(
        description="Name of the schedule. Snapshots taken under an earlier name are kept and no longer deleted "
        "automatically."
    )
    schedule: Schedule = Field(
        description="Cron expression in UTC, such as `0 3 * * *`: at most hourly, at least yearly. The snapshot is "
        "taken within the following hour."
    )
    keep: int | None = Field(None, ge=1, le=MOST_KEPT, description="How many snapshots are kept; or use keepDays.")
    keep_days: int | None = Field(None, ge=1, le=LONGEST_DAYS, description="How many days a snapshot is kept.")
    copies: list[SnapshotCopy] = Field(
        default=[], max_length=MOST_COPIES, description="Copies in other regions, 3 at most."
    )
    tags: dict[PlainText, PlainText] = Field(
        default={}, description="Further tags of its snapshots and their copies, which have the volume's tags too."
    )

    @model_validator(mode="after")
    def _check(self) -> "SnapshotSchedule":
        if (self.keep is None) == (self.keep_days is None):
            rule = "keepDays is set as well" if self.keep else "neither keep nor keepDays says what is kept"
            raise Refusal("keep", self.keep, rule, "set one of the two")
        ec2_tags.check("tags", self.tags, _RESERVED, _RESERVED_PREFIXES)
        _unique("copies", "region", [copy.region for copy in self.copies])
        return self


def check(schedules: Sequence[SnapshotSchedule], zones: Sequence[str], volume_tags: dict[str, str]) -> None:
    """Raises Refusal for schedules that do not go with each other, or with their volume."""
    _unique("snapshots", "name", [one.name for one in schedules])
    by_count = {one.keep is not None for one in schedules}
    if len(by_count) > 1:
        rule = "a volume's schedules all keep by number or all by days: a policy is made for one of the two"
        remedy = "use keep in each, or keepDays in each"
        raise Refusal(f"snapshots.{schedules[-1].name}", "keep" if schedules[-1].keep else "keepDays", rule, remedy)
    for one in schedules:
        if local := next((zone for zone in zones if re.fullmatch(r".*-\d-[a-z]+-\d[a-z]", zone)), None):
            rule = f"{local} is a Local Zone, whose snapshots are taken and copied by other rules"
            raise Refusal(f"snapshots.{one.name}", "set", rule, "remove it, and use `nomad-stateful snapshot`")
        regions = {zone.rstrip("abcdefghijklmnopqrstuvwxyz") for zone in zones if zone}
        if home := next((copy.region for copy in one.copies if copy.region in regions), None):
            raise Refusal(f"snapshots.{one.name}.copies", home, "is the volume's own region", "use another region")
        if twice := next((key for key in one.tags if key in volume_tags), None):
            rule = "is a tag of the volume, and snapshots have the volume's tags"
            raise Refusal(f"snapshots.{one.name}.tags.{twice}", one.tags[twice], rule, "remove it, or use another key")
        ec2_tags.check(f"snapshots.{one.name}.tags", {**volume_tags, **one.tags})


def to_aws(text: str) -> str:
    """Returns a schedule in the notation of AWS; raises Refusal for one that Data Lifecycle Manager does not take.

    https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based
    """
    values = schedule.values(text)
    if values is None:
        raise Refusal("", text, "holds a day that AWS writes otherwise (l, w or #)", "use numbers of days")
    minutes, hours, days, months, weekdays = values
    if len(minutes) > 1:
        raise Refusal("", text, "a snapshot is taken at most once an hour", "use one minute, such as 0")
    if len(days) < 31 and len(weekdays) < 7:
        rule = "names days of the month and of the week, of which AWS takes one"
        raise Refusal("", text, rule, "leave one of the two at *")
    if days == {29} and months == {2}:
        raise Refusal("", text, "comes once in four years, and a year is the longest", "use another day")
    day = "?" if len(weekdays) < 7 else _written(days, 1, 31)
    # AWS counts Sunday as 1, cron as 0.
    weekday = _written({number + 1 for number in weekdays}, 1, 7) if len(weekdays) < 7 else "?"
    return f"cron({min(minutes)} {_written(hours, 0, 23)} {day} {_written(months, 1, 12)} {weekday} *)"


def _written(values: set[int], low: int, high: int) -> str:
    """Returns numbers as a list of numbers and ranges; all of them as an asterisk."""
    if len(values) == high - low + 1:
        return "*"
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _unique(setting: str, key: str, values: list[str]) -> None:
    if twice := next((value for value in values if values.count(value) > 1), None):
        raise Refusal(setting, twice, f"{values.count(twice)} of them have this {key}", f"give each a {key} of its own")
