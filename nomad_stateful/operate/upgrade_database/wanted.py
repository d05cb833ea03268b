"""The image that the settings get, and what of them the new version would not take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.databases.mysql.images import is_mariadb
from nomad_stateful.operate.upgrade_database.releases import MysqlUpgradeRefusedError, Version

MYSQL = "nomad-stateful:mysql"
VOLUMES = "nomad-stateful:volumes"
_TAGGED = re.compile(r"(?P<name>[^@]+):(?P<version>\d+\.\d+\.\d+)(?P<rest>-[\w.-]+)?")
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


@dataclass(frozen=True)
class Images:
    """The server's image before and after."""

    before: str
    after: str

    @property
    def settings(self) -> dict[str, str]:
        """The change of the settings by path."""
        return {f"{MYSQL}.image": self.after}

    @property
    def earlier(self) -> dict[str, str]:
        """What takes it back."""
        return {f"{MYSQL}.image": self.before}


def images(now: str, version: Version, given: str) -> Images:
    """Returns the images; `now` is that of the settings, or else of the job. Raises MysqlUpgradeRefusedError."""
    if given:
        tag = _TAGGED.fullmatch(given.partition("@")[0])
        if tag and tag["version"] != str(version):
            raise MysqlUpgradeRefusedError(f"--image is {given}, and VERSION is {version}: give both the same version")
        return Images(now, given)
    found = _TAGGED.fullmatch(now)
    if found is None:
        raise MysqlUpgradeRefusedError(
            f"mysql.image is {now}, whose tag is no whole version: name the new one by --image IMAGE"
        )
    return Images(now, f"{found['name']}:{version}{found['rest'] or ''}")


def refuse_other_server(before: str, after: str) -> None:
    """Raises MysqlUpgradeRefusedError where one image is MariaDB's."""
    for image in (before, after):
        if is_mariadb(image):
            raise MysqlUpgradeRefusedError(
                f"image {image} is MariaDB's: MySQL and MariaDB do not start on each other's files, and this command "
                "is MySQL's alone. Dump, and restore into a server on a new volume (docs/consumers.md)"
            )


def refuse_options(config: Mapping[str, Any], before: Version, after: Version) -> None:
    """Raises MysqlUpgradeRefusedError where the settings name options that the new version does not take."""
    wrong: list[str] = []
    for key, name, value in _options(_settings(config)):
        for series, removed in _REMOVED:
            if name in removed and after.series >= series:
                instead = f"; use {removed[name]}" if removed[name] else "; remove it"
                wrong.append(f"{key} is {value}: MySQL {series[0]}.{series[1]} removed {name}{instead}")
        if name == "upgrade" and value.upper() in _KEEPS_OLD_DICTIONARY:
            wrong.append(f"{key} is {value}: the server would not upgrade its own tables; remove it")
    if wrong:
        raise MysqlUpgradeRefusedError(
            f"MySQL {after} would not start, or not be whole, with these settings ({before} runs on):\n  "
            + "\n  ".join(wrong)
            + "\nRun `pulumi up` after the change, then the same command again"
        )


def allows_native_password(config: Mapping[str, Any], after: Version) -> bool:
    """Returns whether accounts with mysql_native_password can log in to that version with these settings."""
    if after.series < (8, 4):
        return True
    on = {name: value.upper() for _, name, value in _options(_settings(config))}
    return after.series < (9, 0) and on.get("mysql_native_password", "OFF") in ("ON", "1", "TRUE", "FORCE", "")


def _options(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Gives each option with its key in the settings; one that begins with loose- stops no server."""
    for name, value in (settings.get("config") or {}).items():
        yield f"mysql.config.{name}", _name(name), "ON" if value is True else "OFF" if value is False else str(value)
    for index, argument in enumerate(settings.get("serverArgs") or []):
        name, _, value = str(argument).removeprefix("--").partition("=")
        yield f"mysql.serverArgs[{index}]", _name(name), value


def _name(given: str) -> str:
    return str(given).lower().replace("-", "_")


def _settings(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get(MYSQL) or {}
