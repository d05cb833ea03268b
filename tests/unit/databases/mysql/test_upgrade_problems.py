"""What of the settings a newer MySQL does not take."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nomad_stateful.databases.mysql import releases
from nomad_stateful.databases.upgrades import Version

LTS, NEW = Version((8, 4, 6)), Version((9, 7, 4))


def settings(**mysql: Any) -> dict[str, Any]:
    return {"volume": "mysql", **mysql}


@pytest.mark.parametrize(
    ("mysql", "after", "why"),
    [
        ({"config": {"default_authentication_plugin": "mysql_native_password"}}, LTS, "use authentication_policy"),
        ({"config": {"default-authentication-plugin": "x"}}, NEW, "mysql.config.default-authentication-plugin is x"),
        ({"serverArgs": ["--a=1", "--expire-logs-days=3"]}, LTS, r"mysql.serverArgs\[1\] is 3"),
        ({"serverArgs": ["--skip-host-cache"]}, LTS, "use host_cache_size: 0"),
        ({"config": {"mysql_native_password": True}}, NEW, "MySQL 9.0 removed mysql_native_password; remove it"),
        ({"serverArgs": ["--upgrade=MINIMAL"]}, NEW, "would not upgrade its own tables"),
    ],
)
def test_options_that_the_new_version_does_not_take_are_named(mysql: dict[str, Any], after: Version, why: str) -> None:
    [problem] = releases.option_problems(mysql, after)
    assert re.search(why, problem)


def test_options_that_it_takes_or_may_ignore_are_no_hindrance() -> None:
    assert not releases.option_problems(settings(config={"expire_logs_days": 3}), Version((8, 0, 43)))
    assert not releases.option_problems(settings(config={"mysql_native_password": True}), LTS)
    assert not releases.option_problems(settings(serverArgs=["--loose-expire-logs-days=3", "--upgrade=AUTO"]), NEW)


def test_old_logins_need_8_4_with_its_option_or_what_was_before_it() -> None:
    on = settings(config={"mysql_native_password": True})
    assert releases.allows_native_password(settings(), Version((8, 0, 43)))
    assert not releases.allows_native_password(settings(), LTS)
    assert releases.allows_native_password(on, LTS)
    assert releases.allows_native_password(settings(serverArgs=["--mysql-native-password"]), LTS)
    assert not releases.allows_native_password(on, NEW)
