"""Settings of the copies of MySQL's binary logs in S3, from which it is restored to a point in time."""

import re

from pydantic import Field

from nomad_stateful.program.settings.dump_bucket import DumpBucket
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.server_options import may_be, turns_off
from nomad_stateful.program.settings.types import Section

ACCOUNT = "binlogs"
"""What closes a log, so that it can be copied."""

_FILTERS = ("do_db", "ignore_db", "do_table", "ignore_table", "wild_do_table", "wild_ignore_table", "rewrite_db")
# What keeps transactions out of the logs, or has a restore leave them out.
_LEAVES_OUT = (
    *("log_bin", "log_bin_index", "binlog_do_db", "binlog_ignore_db", "replica_skip_errors", "slave_skip_errors"),
    *(f"replicate_{what}" for what in _FILTERS),
)
# With others a log lacks what was committed, has it otherwise, or is read by nobody else. With the last, InnoDB in a
# snapshot may lack what the log has, and the applier leaves that out: https://bugs.mysql.com/bug.php?id=70659
_DECIDED = {
    "gtid_mode": ("ON",),
    "enforce_gtid_consistency": ("ON", "1"),
    "binlog_encryption": ("OFF", "0"),
    "binlog_format": ("ROW",),
    "binlog_error_action": ("ABORT_SERVER",),
    "log_replica_updates": ("ON", "1"),
    "log_slave_updates": ("ON", "1"),
    "replica_exec_mode": ("STRICT",),
    "slave_exec_mode": ("STRICT",),
    "sync_binlog": ("1",),
    "innodb_flush_log_at_trx_commit": ("1",),
}
_REMEDY = "remove it, or remove pointInTime"
_EXPIRES = "binlog_expire_logs_seconds"
EXPIRES_AT_LEAST_S = 86_400
"""How long the server has to keep a log, in seconds, so that S3 may be out of reach for a day."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


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
            raise Refusal(key, value or name, rule, _REMEDY)
        for option, allowed in _DECIDED.items():
            if may_be(name, option) and (turns_off(name, option) or value.upper() not in allowed):
                rule = f"pointInTime needs {option.replace('_', '-')} {allowed[0]}"
                raise Refusal(key, value or name, rule, _REMEDY)
        _check_expiry(key, name, value)


def _check_expiry(key: str, name: str, value: str) -> None:
    """Raises Refusal where the server removes a log sooner than it is surely copied."""
    if may_be(name, "expire_logs_days"):
        rule = f"pointInTime needs the logs' age in {_EXPIRES}, which this makes void"
        raise Refusal(key, value or name, rule, f"set {_EXPIRES} in its place")
    if not may_be(name, _EXPIRES):
        return
    found = re.fullmatch(r"(\d+)([KMG]?)", value.strip().upper())
    seconds = int(found[1]) * _UNITS[found[2]] if found and not turns_off(name, _EXPIRES) else -1
    if seconds != 0 and seconds < EXPIRES_AT_LEAST_S:
        rule = f"pointInTime needs {_EXPIRES} {EXPIRES_AT_LEAST_S} or more, or 0 (never): S3 may be away that long"
        raise Refusal(key, value or name, rule, f"remove it (30 days), or set {EXPIRES_AT_LEAST_S} or more")
