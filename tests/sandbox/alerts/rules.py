"""The project's rules with shorter times, and the scrape configuration that its page tells users to write."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tools.trial.running import PROJECT

RULES = PROJECT / "metrics" / "rules.yaml"
PAGE = PROJECT / "docs" / "metrics.md"
SCALE = {
    "1m": "2s",
    "2m": "4s",
    "5m": "6s",
    "10m": "8s",
    "15m": "30s",
    "30m": "10s",
    "1h": "10s",
    # What Prometheus remembers has to outlive the test, as it outlives what Nomad remembers.
    "7d": "7d",
    "6h": "30s",
    "1d": "120s",
    "26h": "90s",
    "8d": "120s",
}
"""What a time of the rules is in the test: enough for some scrapes, little to wait for."""
OF_GROUP = "tests/sandbox/test_group_alerts.py::test_an_alert_of_a_group_fires_and_clears"
ELSEWHERE = {
    "BinlogsLate": "tests/sandbox/test_point_in_time.py::test_its_alert_fires_and_clears",
    **dict.fromkeys(
        (
            "GroupMemberAway",
            "GroupWithoutPrimary",
            "GroupWithTwoPrimaries",
            "GroupMemberLags",
            "RouterWithoutPrimary",
        ),
        OF_GROUP,
    ),
}
"""Alerts that need another stack, and the test that has it."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TIME = re.compile(r"(?<=\[)\d+[smhd](?=\])|(?<=offset )\d+[smhd]|\b\d{3,}\b")


def loaded() -> dict[str, Any]:
    """Returns the rule file."""
    return dict(yaml.safe_load(RULES.read_text(encoding="utf-8")))


def all_rules() -> Iterator[dict[str, Any]]:
    """Yields recording and alerting rules."""
    for group in loaded()["groups"]:
        yield from group["rules"]


def alerts() -> list[str]:
    """Returns their names, in the order of the file."""
    return [rule["alert"] for rule in all_rules() if "alert" in rule]


def scaled() -> dict[str, Any]:
    """Returns the rule file with each time as SCALE has it. Raises KeyError for a time that SCALE lacks."""
    known = loaded()
    for group in known["groups"]:
        for rule in group["rules"]:
            rule["expr"] = _TIME.sub(lambda found: _shorter(found[0]), rule["expr"])
            if "for" in rule:
                rule["for"] = SCALE[rule["for"]]
    return known


def _shorter(time: str) -> str:
    if not time.isdigit():
        return SCALE[time]
    return str(seconds(SCALE[next(one for one in SCALE if seconds(one) == int(time))]))


def seconds(time: str) -> int:
    """Returns 120 for 2m."""
    return int(time[:-1]) * _UNITS[time[-1]]


def documented(operate: str, textfiles: str, password_file: Path) -> dict[str, Any]:
    """Returns the page's configuration for a Prometheus without Nomad's discovery, with other ports and files."""
    blocks = re.findall(r"^```yaml\n(rule_files.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (text,) = [block for block in blocks if "http_sd_configs" in block]
    text = text.replace("/etc/prometheus/mysql-metrics-password", str(password_file))
    return dict(yaml.safe_load(text.replace("127.0.0.1:9911", operate).replace("127.0.0.1:9100", textfiles)))


def write(folder: Path, operate: str, textfiles: str, password: str) -> Path:
    """Writes configuration, rules and the exporter's password; returns the configuration's file."""
    password_file = folder / "mysql-metrics-password"
    password_file.touch(mode=0o600)
    password_file.write_text(password, encoding="utf-8")
    (folder / "rules.yaml").write_text(yaml.safe_dump(scaled()), encoding="utf-8")
    config = documented(operate, textfiles, password_file)
    # Scrapes in the pace of the shorter times.
    config["global"] = {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}
    for one in config["scrape_configs"]:
        # What reads EC2 may take a while, where EC2 does not answer.
        if "scrape_timeout" in one:
            one["scrape_interval"] = one["scrape_timeout"] = "8s"
        for discovery in one.get("http_sd_configs", []):
            discovery["refresh_interval"] = "2s"
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return file
