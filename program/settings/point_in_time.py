"""Settings of the copies of MySQL's binary logs in S3, from which it is restored to a point in time."""

from pydantic import Field

from program.settings.dump_bucket import DumpBucket
from program.settings.errors import Refusal
from program.settings.server_options import may_be, turns_off
from program.settings.types import Section

ACCOUNT = "binlogs"
"""What closes a log, so that it can be copied."""

# What keeps transactions out of the logs, or writes them so that nothing else reads them.
_LEAVES_OUT = ("log_bin", "log_bin_index", "binlog_do_db", "binlog_ignore_db")
_DECIDED = {
    "gtid_mode": ("ON",),
    "enforce_gtid_consistency": ("ON", "1"),
    "binlog_encryption": ("OFF", "0"),
    "sync_binlog": ("1",),
}


class PointInTime(Section):
    """MySQL's binary logs in S3, at most a minute behind."""

    s3: DumpBucket = Field(description="Where the logs are copied to: below `binlogs/` of the prefix.")
    interval_s: int = Field(
        30,
        ge=5,
        le=45,
        description="How often a log that has transactions is closed and copied, in seconds: what is lost with the "
        "volume is of this time and that of one upload.",
    )


def check_options(options: dict[str, str], arguments: list[str]) -> None:
    """Raises Refusal for a server option with which the logs would lack transactions."""
    given = {f"config.{name}": (name, value) for name, value in options.items()}
    for index, argument in enumerate(arguments):
        name, _, value = argument.removeprefix("--").partition("=")
        given[f"serverArgs.{index}"] = (name, value)
    for key, (name, value) in given.items():
        if any(may_be(name, option) for option in _LEAVES_OUT):
            rule = "pointInTime needs every transaction in the binary logs, under the names that they have"
            raise Refusal(key, value or name, rule, "remove it, or remove pointInTime")
        for option, allowed in _DECIDED.items():
            if may_be(name, option) and (turns_off(name, option) or value.upper() not in allowed):
                rule = f"pointInTime needs {option.replace('_', '-')} {allowed[0]}"
                raise Refusal(key, value or name, rule, "remove it, or remove pointInTime")
