"""What dashboard and rules ask Prometheus, and which of it is rightly without an answer."""

import json
import re
from collections.abc import Iterator
from typing import Final

from tests.sandbox.alerts import rules
from tools.trial.running import PROJECT

DASHBOARD = PROJECT / "metrics" / "dashboard.json"
_LOOP: Final = "statistics of NVMe devices, which the sandbox's loop devices have not"
_REFUSED: Final = "no request to EC2 was refused"
_NO_LOGS: Final = "the test's stack copies no binary logs"
_NO_GROUP: Final = "the test's stack has a single server"
EMPTY: Final = {
    **dict.fromkeys(("Members ONLINE", "Primary", "Members behind", "Routers with a primary"), _NO_GROUP),
    "Binary logs behind": _NO_LOGS,
    "Refused and throttled": _REFUSED,
    "Volume operations": _LOOP,
    "Limits reached": _LOOP,
    "Detachments that EC2 has not finished": "every volume came off",
}
"""Panels that may be empty where all is well, with the reason; and no others."""
_METRIC = re.compile(r"\b(?:nomad_stateful|mysql|node_filesystem)[\w:]*")


def of_dashboard() -> Iterator[tuple[str, str]]:
    """Yields each panel's title and expression."""
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m")


def of_recordings() -> Iterator[tuple[str, str]]:
    """Yields the name and expression of what the rules record."""
    yield from ((rule["record"], rule["expr"]) for rule in rules.all_rules() if "record" in rule)


def of_alerts() -> Iterator[tuple[str, str]]:
    """Yields each alert and the metrics in its expression: itself it is empty where all is well."""
    for rule in rules.all_rules():
        if "alert" in rule and rule["alert"] not in rules.ELSEWHERE:
            yield from ((rule["alert"], name) for name in sorted(set(_METRIC.findall(rule["expr"]))))
