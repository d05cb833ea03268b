"""Options of a server that is a member of a replication group.

https://dev.mysql.com/doc/refman/9.7/en/group-replication-system-variables.html
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from nomad_stateful.databases.model import Account, Problem, Replication
from nomad_stateful.databases.mysql.options import logs_problem, may_be, number, turns_off
from nomad_stateful.databases.server import Member

_PRIVILEGES = "REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM"
GRANTS = (
    f"GRANT {_PRIVILEGES} ON *.* TO {{account}}",
    "GRANT SELECT ON performance_schema.replication_group_members TO {account}",
    "GRANT SELECT ON performance_schema.replication_connection_status TO {account}",
)
"""The statements by which the agent gives the account its rights, on each member before that joins."""
_MIB = 1 << 20
_USUAL_POOL_MIB = 128
_PLUGINS = ("plugin-load-add=group_replication.so", "plugin-load-add=mysql_clone.so")
# A member that lacks more than so many transactions copies all of another, and so does one whose logs are gone. Its
# server starts again afterwards, and lacks what was written meanwhile: with few it would copy for ever.
_CLONES_FROM = 1_000_000
# While all of the default's four are busy, the thread that gives them work spins, and starves a small host for seconds.
_WORKERS = 16
# Beside those that begin with group_replication_.
_OWN_OPTIONS = (
    *("server_id", "report_host", "report_port", "report_user", "report_password", "relay_log", "skip_replica_start"),
    *(
        "skip_slave_start",
        "replica_parallel_workers",
        "slave_parallel_workers",
        "disabled_storage_engines",
        "plugin_load",
        "plugin_load_add",
    ),
    *("read_only", "super_read_only", "offline_mode", "replica_preserve_commit_order", "slave_preserve_commit_order"),
    # A fresh relay log, of group_replication_applier too, has nothing of what a stopped member received: where all were
    # stopped, that is to count.
    *("relay_log_recovery", "relay_log_purge"),
)
# The one that a person may set. Without loose- a server that makes its data directory would not know it, and end.
_SIZE_LIMIT = "loose_group_replication_transaction_size_limit"
_LARGEST = (1 << 31) - 1
_ON = ("ON", "1", "TRUE")
_ASKED = ("performance_schema", "performance_schema_consumer_global_instrumentation")
# With few of these it counts the writes of some files alone, or does not show what some sessions wait for.
_COUNTS = (
    *(f"performance_schema_max_file_{what}" for what in ("classes", "handles", "instances")),
    *(f"performance_schema_max_{what}" for what in ("thread_classes", "thread_instances", "stage_classes")),
)
COUNTED = ("wait/io/file/sql/binlog", "wait/io/file/innodb/innodb_log_file")
"""The events by which the agent sees whether writes of the logs end."""


def option_lines(member: Member, *, verified: bool) -> list[str]:
    """Returns the lines of its option file; `verified` where each member's certificate has its name.

    GROUP_ID is in the task's environment.
    """
    seeds = ",".join(f"{name}:{member.port}" for name in (member.name, *member.others))
    group: Mapping[str, str | int] = {
        "group_name": '{{ env "GROUP_ID" }}',
        "local_address": f"{member.name}:{member.port}",
        "group_seeds": seeds,
        "communication_stack": "MYSQL",
        # The agent starts it, with credentials that are not kept in the data directory.
        "start_on_boot": "OFF",
        "consistency": "BEFORE_ON_PRIMARY_FAILOVER",
        "member_expel_timeout": 0,
        # With a time the members of two short faults leave for good, and the group is to be begun again.
        "unreachable_majority_timeout": 0,
        "exit_state_action": "OFFLINE_MODE",
        "autorejoin_tries": 100,
        "message_cache_size": member.message_cache_mib * _MIB,
        "clone_threshold": _CLONES_FROM,
        # Between tries of all members, by default a minute: one to copy from may just be starting itself.
        "recovery_reconnect_interval": 5,
        # One block of numbers, without holes.
        "gtid_assignment_block_size": 1,
        **_encryption(verified=verified),
    }
    server: Mapping[str, str | int] = {
        "server_id": (sorted((member.name, *member.others)).index(member.name)) + 1,
        "gtid_mode": "ON",
        "enforce_gtid_consistency": "ON",
        "report_host": member.name,
        "report_port": member.port,
        "relay_log": "relay",
        "skip_replica_start": "ON",
        "replica_parallel_workers": _WORKERS,
        "disabled_storage_engines": "MyISAM,BLACKHOLE,FEDERATED,ARCHIVE,MEMORY",
    }
    named = {**server, **{f"loose-group_replication_{name}": value for name, value in group.items()}}
    return [*_PLUGINS, *(f"{name} = {value}" for name, value in named.items())]


def _encryption(*, verified: bool) -> Mapping[str, str]:
    own = {"ssl_mode": "REQUIRED", "recovery_use_ssl": "ON"}
    if not verified:
        return own
    return own | {
        "ssl_mode": "VERIFY_IDENTITY",
        "recovery_ssl_ca": '{{ env "NOMAD_SECRETS_DIR" }}/ca.pem',
        "recovery_ssl_verify_server_cert": "ON",
    }


def _option_problem(name: str, value: str) -> Problem | None:
    """Returns why a member could not replicate with an option, or could lose transactions."""
    plain = name.lower().replace("-", "_")
    if plain == _SIZE_LIMIT:
        is_size = (size := number(value)) is not None and size <= _LARGEST
        return None if is_size else Problem(f"must be bytes, {_LARGEST} at most, or 0 for no limit", "correct it")
    own = next((option for option in _OWN_OPTIONS if may_be(name, option)), "")
    if "group_replication" in plain:
        own = f"options that begin with group_replication_, but {_SIZE_LIMIT}"
    if own:
        return Problem(f"group decides {own.replace('_', '-')}", "remove it, or remove group")
    if rule := _hides(name, value):
        return Problem(rule, "remove it, or remove group")
    return _keeps_out(name, value) or logs_problem(name, value, "group")


def _keeps_out(name: str, value: str) -> Problem | None:
    """Returns why members would not take each other any more with an option, or the kernel would end one."""
    # What MySQL compares beside it is an option of the group's, or of the data directory (lower_case_table_names).
    if may_be(name, "default_table_encryption"):
        rule = "a group takes no member with another value than the others', and a change restarts one at a time"
        return Problem(rule, "remove it, and alter databases with ENCRYPTION='Y'")
    if may_be(name, "default_password_lifetime") and number(value) != 0:
        rule = "accounts would expire by which members and agents log in, and whose passwords a group sets once"
        return Problem(rule, "remove it, and have accounts of your own expire by ALTER USER")
    dedicated = "innodb_dedicated_server"
    if may_be(name, dedicated) and not turns_off(name, dedicated) and value.upper() in (*_ON, ""):
        rule = "a member's memory has to hold its buffer pool, and by this the server chooses that"
        return Problem(rule, "remove it, and set innodb_buffer_pool_size")
    return None


def _hides(name: str, value: str) -> str:
    """Returns which rule an option breaks without which the agent is blind; empty where it breaks none."""
    if asked := next((option for option in _ASKED if may_be(name, option)), ""):
        is_on = value.upper() in _ON and not turns_off(name, asked)
        rule = f"group needs {asked.replace('_', '-')} ON: by it the agent asks what the member is and does"
        return "" if is_on else rule
    hides = any(may_be(name, option) for option in _COUNTS)
    if may_be(name, "performance_schema_instrument"):
        pattern, _, level = (part.strip(" '\"").replace("%", "*").lower() for part in value.rpartition("="))
        is_on = level in ("on", "1", "true", "yes", "counted")
        hides = not is_on and any(fnmatchcase(event, pattern) for event in COUNTED)
    rule = "group needs performance-schema to count writes of files, and to show what sessions wait for"
    return f"{rule}: by it the agent sees its disk" if hides else ""


def _further_mib(options: Iterable[tuple[str, str]]) -> int:
    pools = [number(value) or 0 for name, value in options if may_be(name, "innodb_buffer_pool_size")]
    return max([_USUAL_POOL_MIB, *(size // _MIB for size in pools)]) - _USUAL_POOL_MIB


REPLICATION = Replication(Account("nomad_group", _PRIVILEGES), "member.sh", (8, 4), _option_problem, _further_mib)
