"""The scrape configurations of docs/metrics.md: what Nomad's discovery makes of a service is what /targets says."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from nomad_stateful.operate.metrics.server import targets
from tests.fake_nomad import FakeNomad
from tests.unit.metrics.test_rules import TOP


def documented() -> list[dict[str, Any]]:
    """The configurations, by Nomad's discovery and without it."""
    page = (TOP / "docs" / "metrics.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(rule_files.*?)^```", page, re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(block) for block in blocks]


def relabelled(known: Mapping[str, str], rules: list[dict[str, Any]]) -> dict[str, str] | None:
    """What Prometheus makes of a target's labels; None where it drops it."""
    labels: dict[str, str] = {}
    for rule in rules:
        found = re.fullmatch(rule.get("regex", "(.*)"), ";".join(known[name] for name in rule["source_labels"]))
        if rule.get("action") in ("keep", "drop"):
            if bool(found) is (rule["action"] == "drop"):
                return None
        elif found:
            labels[rule["target_label"]] = found[1]
    return labels


def taken(config: dict[str, Any], known: Mapping[str, str], discovery: str) -> list[tuple[str, dict[str, str]]]:
    """The jobs that scrape a target, each with the labels that its rules give."""
    jobs = [one for one in config["scrape_configs"] if discovery in one]
    made = [(one["job_name"], relabelled(known, one["relabel_configs"])) for one in jobs]
    return [(job, labels) for job, labels in made if labels is not None]


@pytest.mark.parametrize(
    ("service", "tags"),
    [
        ("csi-driver-metrics", ["prometheus", "plugin=aws-ebs0", "role=controller"]),
        ("mysql-metrics", ["prometheus", "server=mysql-server"]),
        ("volume-metrics", ["prometheus"]),
        ("other", ["prometheus", "job=mysql-metrics", "instance=x", "__metrics_path__=/latest/user-data"]),
        ("mysql-server", []),
    ],
)
def test_both_find_the_same_targets_with_the_same_labels(nomad: FakeNomad, service: str, tags: list[str]) -> None:
    by_nomad, by_http = documented()
    meta = {
        "__meta_nomad_tags": f",{','.join(tags)},",
        "__meta_nomad_service": service,
        "__meta_nomad_address": "10.0.0.5",
    }
    nomad.put("services", [{"Namespace": "default", "Services": [{"ServiceName": service, "Tags": tags}]}])
    one = {"ServiceName": service, "Tags": tags, "Address": "10.0.0.5", "Port": 23456}
    nomad.put(f"service/{service}", [one])
    known = [target["labels"] for target in targets(nomad.api, "default") if target["labels"]["job"] == service]
    by_discovery = taken(by_nomad, meta, "nomad_sd_configs")
    assert known == [labels for _, labels in by_discovery]
    # The exporter's password goes to the exporter alone, by either way.
    assert [job for job, _ in by_discovery] == [
        job for one in known for job, _ in taken(by_http, one, "http_sd_configs")
    ]
    assert all((job == "mysql") is (service == "mysql-metrics") for job, _ in by_discovery)
    assert by_nomad["scrape_configs"][2:] == by_http["scrape_configs"][2:]
