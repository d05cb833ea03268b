"""Options of the MySQL server: nothing that overrides what the program decides, or puts data outside of the volume.

The server takes `-` for `_`, the beginning of a name for the whole, and words such as loose- before it.
https://dev.mysql.com/doc/refman/8.4/en/command-line-options.html
https://dev.mysql.com/doc/refman/8.4/en/option-modifiers.html
"""

import posixpath
import re
from collections.abc import Iterator

from nomad_stateful.databases.model import Problem

_TURNS_OFF = ("skip", "disable")
_MODIFIERS = ("loose", *_TURNS_OFF, "enable", "maximum")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

OWN_OPTIONS = {
    "datadir": "mysql.dataDir",
    "port": "mysql.port",
    "user": "mysql.user and mysql.serverUid",
    "init_file": "mysql.initScripts",
    "require_secure_transport": "mysql.tls",
    "tls_version": "mysql.tls",
    "ssl": "mysql.tls",
    "skip_ssl": "mysql.tls",
    "auto_generate_certs": "mysql.tls",
    "ssl_ca": "mysql.tlsCertificate.ca",
    "ssl_cert": "mysql.tlsCertificate.certificate",
    "ssl_key": "mysql.tlsCertificate.key",
    "defaults_file": "mysql.config",
    "defaults_extra_file": "mysql.config",
    "defaults_group_suffix": "mysql.config",
    "no_defaults": "mysql.config",
    **dict.fromkeys(("skip_name_resolve", "skip_networking", "skip_grant_tables", "chroot", "daemonize"), ""),
    # The image's entrypoint, or the server, would do this and end.
    **dict.fromkeys(("help", "version", "print_defaults", "validate_config", "initialize", "initialize_insecure"), ""),
    **dict.fromkeys(("bootstrap", "install", "install_manual", "remove", "standalone", "gdb"), ""),
}
"""Options that the program sets, or that keep the server from serving; and the setting that decides each, if any."""

DATA_PATHS = frozenset(
    {
        *("innodb_data_home_dir", "innodb_data_file_path", "innodb_log_group_home_dir", "innodb_undo_directory"),
        *("innodb_doublewrite_dir", "innodb_directories", "innodb_temp_data_file_path", "log_bin", "log_bin_index"),
        *("log_bin_basename", "relay_log", "relay_log_index", "relay_log_basename", "relay_log_info_file"),
        *("master_info_file", "rocksdb_datadir", "rocksdb_wal_dir", "log_tc", "keyring_file_data"),
    }
)
"""Options that name files which belong to the data."""

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


class Options:
    """Which options of the server a person may set, and how they stand in its file."""

    def argument(self, argument: str, mount_path: str) -> Problem | None:
        """Returns why an argument is not an option with its value, or is one that the program decides."""
        found = re.fullmatch(r"--(?P<name>[A-Za-z][A-Za-z0-9_-]*)(=(?P<value>.*))?", argument, re.DOTALL)
        if found is None:
            return Problem("must be one option by its long name, with its value", "write it as --name=value")
        return _problem(found["name"], found["value"] or "", mount_path)

    def option(self, name: str, value: str, mount_path: str) -> Problem | None:
        """Returns why an option of the file is none, or is one that the program decides."""
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
            return Problem("is not a valid option name", "write it as in the server's manual")
        if not value.isprintable():
            return Problem("must not contain line breaks or other control characters", "write it on one line")
        return _problem(name, value, mount_path)

    def text(self, value: str) -> str:
        """Returns a value for an option file, where quotes, backslashes and # have a meaning.

        https://dev.mysql.com/doc/refman/8.4/en/option-files.html
        """
        if value == value.strip() and not re.search(r"""[\\#'"]""", value):
            return value
        parts = re.split(r"({{.*?}})", value)
        parts[::2] = [part.replace("\\", "\\\\").replace('"', '\\"') for part in parts[::2]]
        return f'"{"".join(parts)}"'


def may_be(name: str, option: str) -> bool:
    """Returns whether a name, with or without the words that may stand before it, is or begins an option."""
    return any(_begins(rest, option) for rest, _ in _readings(name))


def turns_off(name: str, option: str) -> bool:
    """Returns whether a name is that of an option behind skip- or disable-, whatever its value says."""
    found = next((before for rest, before in _readings(name) if _begins(rest, option)), ())
    return any(word in _TURNS_OFF for word in found)


def number(value: str) -> int | None:
    """Returns the number that a value such as 2G is; None where it is none, or a template."""
    found = re.fullmatch(r"(\d+)([KMGT]?)", value.strip().upper())
    return int(found[1]) * _UNITS[found[2]] if found else None


def _begins(rest: str, option: str) -> bool:
    return option.replace("_", "").startswith(rest.replace("_", ""))


def _readings(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields what is left of a name without the first words that may stand before an option, and these words."""
    rest = name.lower().replace("-", "_")
    before: tuple[str, ...] = ()
    while rest:
        yield rest, before
        modifier, _, rest = rest.partition("_")
        if modifier not in _MODIFIERS:
            return
        before = (*before, modifier)


def _problem(name: str, value: str, mount_path: str) -> Problem | None:
    own = next((option for option in OWN_OPTIONS if may_be(name, option)), None)
    if own is not None:
        setting = OWN_OPTIONS[own]
        rule = f"{setting} sets this" if setting else f"the program reserves {own.replace('_', '-')}"
        return Problem(rule, f"remove it, and set {setting}" if setting else "remove it")
    names_data = any(may_be(name, option) for option in DATA_PATHS)
    if names_data and not all(_on_volume(path, mount_path) for path in re.split(r"[;,]", value)):
        return Problem(
            "this is a part of the data, and would be outside of the volume",
            f"use a path in {mount_path}, or one that is relative to mysql.dataDir and stays in it",
        )
    return None


def _on_volume(path: str, mount_path: str) -> bool:
    parts = path.split("/")
    if "${" in path or "{{" in path or ".." in parts:
        return False
    return not path.startswith("/") or posixpath.normpath(path).startswith(f"{mount_path}/")


def point_in_time_problem(name: str, value: str) -> Problem | None:
    """Returns why the logs would lack transactions with an option, or be gone before they are copied."""
    return logs_problem(name, value, "pointInTime") or _expiry_problem(name, value)


def logs_problem(name: str, value: str, setting: str) -> Problem | None:
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
