"""What of the settings and of a server's contents a newer MySQL does not take."""

from collections.abc import Iterator, Mapping

from nomad_stateful.databases.mysql.releases import series
from nomad_stateful.databases.upgrades import Names, Section, Version

# By series: https://dev.mysql.com/doc/mysqld-version-reference/en/optvar-changes-8-4.html, and so on.
_REMOVED: tuple[tuple[tuple[int, int], Mapping[str, str]], ...] = (
    (
        (8, 4),
        {
            "default_authentication_plugin": "authentication_policy",
            "expire_logs_days": "binlog_expire_logs_seconds",
            **dict.fromkeys(
                ("admin_ssl", "authentication_fido_rp_id", "avoid_temporal_upgrade", "show_old_temporals"), ""
            ),
            **dict.fromkeys(("binlog_transaction_dependency_tracking", "transaction_write_set_extraction"), ""),
            **dict.fromkeys(("keyring_encrypted_file_data", "keyring_encrypted_file_password"), ""),
            **dict.fromkeys(("master_info_repository", "relay_log_info_repository", "log_bin_use_v1_row_events"), ""),
            **dict.fromkeys(("character_set_client_handshake", "old_style_user_limits", "new", "old"), ""),
            "group_replication_ip_whitelist": "group_replication_ip_allowlist",
            "skip_host_cache": "host_cache_size: 0",
        },
    ),
    ((9, 0), {"mysql_native_password": "", "mysql_native_password_proxy_users": ""}),
)
_KEEPS_OLD_DICTIONARY = ("NONE", "MINIMAL")
_OLD_LOGINS = (
    "SELECT CONCAT(user, '@', host, ' (', plugin, ')') FROM mysql.user WHERE account_locked = 'N' AND plugin IN "
)
_FLOATS = (
    "SELECT CONCAT(table_schema, '.', table_name, '.', column_name) FROM information_schema.columns WHERE "
    "extra LIKE '%auto_increment%' AND data_type IN ('float', 'double') AND table_schema NOT IN "
    "('mysql', 'sys', 'information_schema', 'performance_schema')"
)


def of_options(section: Section, after: Version) -> list[str]:
    """Returns the options of the settings that the new version does not take."""
    wrong: list[str] = []
    for key, name, value in _options(section):
        for since, removed in _REMOVED:
            if name in removed and series(after) >= since:
                instead = f"; use {removed[name]}" if removed[name] else "; remove it"
                wrong.append(f"{key} is {value}: MySQL {since[0]}.{since[1]} removed {name}{instead}")
        if name == "upgrade" and value.upper() in _KEEPS_OLD_DICTIONARY:
            wrong.append(f"{key} is {value}: the server would not upgrade its own tables; remove it")
    return wrong


def of_contents(section: Section, after: Version, names: Names) -> list[str]:
    """Returns what the server has that the new version does not take."""
    wrong = []
    plugins = [
        *([] if allows_native_password(section, after) else ["mysql_native_password"]),
        *(["authentication_fido"] if series(after) >= (8, 4) else []),
    ]
    if plugins and (old := names(_OLD_LOGINS + f"({', '.join(map(repr, plugins))})")):
        wrong.append(
            f"accounts {', '.join(old)}: MySQL {after} lets none of them log in. ALTER USER … IDENTIFIED WITH "
            "caching_sha2_password BY …, or ACCOUNT LOCK what is not used (up to 8.4 mysql.config: "
            "{mysql_native_password: ON} lets them)"
        )
    if names("XA RECOVER"):
        wrong.append("XA transactions are prepared: XA COMMIT or XA ROLLBACK them (XA RECOVER lists them)")
    if series(after) >= (8, 4) and (floats := names(_FLOATS)):
        wrong.append(f"columns {', '.join(floats)}: MySQL 8.4 has no AUTO_INCREMENT of FLOAT or DOUBLE. ALTER them")
    return wrong


def allows_native_password(section: Section, after: Version) -> bool:
    """Returns whether accounts with mysql_native_password can log in to that version with these settings."""
    if series(after) < (8, 4):
        return True
    on = {name: value.upper() for _, name, value in _options(section)}
    return series(after) < (9, 0) and on.get("mysql_native_password", "OFF") in ("ON", "1", "TRUE", "FORCE", "")


def _options(section: Section) -> Iterator[tuple[str, str, str]]:
    """Gives each option with its key in the settings; one that begins with loose- stops no server."""
    for name, value in (section.get("config") or {}).items():
        yield f"mysql.config.{name}", _name(name), "ON" if value is True else "OFF" if value is False else str(value)
    for index, argument in enumerate(section.get("serverArgs") or []):
        name, _, value = str(argument).removeprefix("--").partition("=")
        yield f"mysql.serverArgs[{index}]", _name(name), value


def _name(given: str) -> str:
    return str(given).lower().replace("-", "_")
