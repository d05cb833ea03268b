"""MySQL's versions: which one may follow on the files of which, and what a newer one does not take.

A long-term series may be followed by the innovation releases after it and by the next long-term series, an innovation
release by later ones of the same cycle and by the long-term series that ends it; none is skipped. After 9.7 versions
are years and months, and say nothing of how long a series is kept up: MySQL itself decides among these.
https://dev.mysql.com/doc/refman/9.7/en/upgrade-paths.html
https://dev.mysql.com/doc/refman/26.7/en/mysql-releases.html
"""

import re
from collections.abc import Iterator, Mapping

from nomad_stateful.databases.upgrades import Names, Section, UpgradeRefusedError, Version

LONG_TERM = ((8, 0), (8, 4), (9, 7))
"""Series without a change of format, oldest first; 8.0 is kept up as one."""
_SAID = re.compile(r"\d{1,2}\.\d{1,2}\.\d{1,2}")
_FIRST_BY_DATE = (26, 7)
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


def of_server(said: str) -> Version:
    """Returns the version of a server by what its VERSION() is. Raises UpgradeRefusedError."""
    if "mariadb" in said.lower():
        raise UpgradeRefusedError(
            f"the server is MariaDB ({said}): it has versions and files of its own, and neither takes the other's. To "
            "change, dump, and restore into a server on a new volume (docs/consumers.md)"
        )
    found = _SAID.match(said)
    version = Version.parse(found[0], 3) if found else None
    if version is None:
        raise UpgradeRefusedError(f"the server says version {said}, which is no release of MySQL")
    return version


def wanted(text: str) -> Version:
    """Returns the version that was asked for. Raises UpgradeRefusedError."""
    version = Version.parse(text, 3)
    if version is None:
        raise UpgradeRefusedError(f"VERSION is {text}: it must be a whole version, such as 8.4.6")
    if not _exists(version):
        raise UpgradeRefusedError(
            f"VERSION is {text}: MySQL has no series {_text(series(version))}. They are 8.0 to 8.4, 9.0 to 9.7, "
            "and after it year and month, from 26.7"
        )
    return version


def refuse_path(before: Version, after: Version) -> None:
    """Raises UpgradeRefusedError where MySQL has no way from one version's files to the other."""
    if after < before:
        patch = ""
        if series(after) == series(before) and series(after) in LONG_TERM[1:]:
            patch = f" Within {_text(series(after))} MySQL allows it: set mysql.image, and run `pulumi up`."
        raise UpgradeRefusedError(
            f"VERSION is {after}: the server runs {before}, and an older one does not start on its files. To go back, "
            f"dump, and restore into a server of {after} on a new volume, or restore a snapshot from before the "
            f"upgrade (docs/volumes.md, Restore).{patch}"
        )
    if series(after) == series(before):
        return
    if not _exists(before):
        raise UpgradeRefusedError(f"the server runs {before}, a series that this release does not know")
    here, there = _cycle(series(before)), _cycle(series(after))
    follows = there == here + 1 if series(after) in LONG_TERM else there == here
    if follows:
        return
    following = _text(LONG_TERM[here + 1]) if here + 1 < len(LONG_TERM) else "a later one"
    raise UpgradeRefusedError(
        f"VERSION is {after}: from {before} MySQL goes to {following} first, and no long-term series is skipped. "
        f"Upgrade to the newest {following}, then again"
    )


def series(version: Version) -> tuple[int, int]:
    """Returns the part that stays the same for bug fixes."""
    return version[0], version[1]


def _exists(version: Version) -> bool:
    major, minor = series(version)
    if (major, minor) >= _FIRST_BY_DATE:
        return 1 <= minor <= 12
    return (major, minor) <= LONG_TERM[-1] and minor <= {8: 4, 9: 7}.get(major, -1)


def _cycle(of: tuple[int, int]) -> int:
    """Returns the place of the last long-term series that is not after this one."""
    return max(index for index, first in enumerate(LONG_TERM) if first <= of)


def _text(of: tuple[int, int]) -> str:
    return f"{of[0]}.{of[1]}"


def option_problems(section: Section, after: Version) -> list[str]:
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


def content_problems(section: Section, after: Version, names: Names) -> list[str]:
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
