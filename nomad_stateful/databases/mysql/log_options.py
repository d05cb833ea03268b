"""Binary logs of MySQL: with which options of the server one lacks nothing, and stays until it is copied."""

from nomad_stateful.databases.model import Problem
from nomad_stateful.databases.mysql.options import may_be, number, turns_off

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
_EXPIRES = "binlog_expire_logs_seconds"
EXPIRES_AT_LEAST_S = 86_400
"""How long the server has to keep a log, in seconds, so that S3 may be out of reach for a day."""


def problem(name: str, value: str) -> Problem | None:
    """Returns why the logs would lack transactions with an option, or be gone before they are copied."""
    return missing(name, value, "pointInTime") or _expiry_problem(name, value)


def missing(name: str, value: str, setting: str) -> Problem | None:
    """Returns why the logs, which a setting needs, would lack transactions with an option."""
    remedy = f"remove it, or remove {setting}"
    if any(may_be(name, option) for option in _LEAVES_OUT):
        return Problem(f"{setting} needs every transaction in the binary logs, under the names that they have", remedy)
    for option, allowed in _DECIDED.items():
        if may_be(name, option) and (turns_off(name, option) or value.upper() not in allowed):
            return Problem(f"{setting} needs {option.replace('_', '-')} {allowed[0]}", remedy)
    return None


def _expiry_problem(name: str, value: str) -> Problem | None:
    """Returns why the server removes a log sooner than it is surely copied."""
    if may_be(name, "expire_logs_days"):
        rule = f"pointInTime needs the logs' age in {_EXPIRES}, which this makes void"
        return Problem(rule, f"set {_EXPIRES} in its place")
    if not may_be(name, _EXPIRES):
        return None
    seconds = None if turns_off(name, _EXPIRES) else number(value)
    if seconds is not None and (seconds == 0 or seconds >= EXPIRES_AT_LEAST_S):
        return None
    rule = f"pointInTime needs {_EXPIRES} {EXPIRES_AT_LEAST_S} or more, or 0 (never): S3 may be away that long"
    return Problem(rule, f"remove it (30 days), or set {EXPIRES_AT_LEAST_S} or more")
