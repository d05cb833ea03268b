"""Which versions of Nomad are refused before anything is created, and with which reason."""

import re
from typing import Any

import pulumi
import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.preflight import check as preflight
from nomad_stateful.program.settings import SettingsError
from tests.unit.program.answers import NODE, Answers
from tests.unit.program.recorder import planned

CONFIG: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "aws-ebs0", "driver": "ebs", "version": "v1.48.0", "taskDriver": "docker"}],
    "volumes": [{"name": "data", "zone": "us-west-2a", "sizeGib": 1}],
}


def refused(
    servers: dict[str, str], clients: dict[str, str], placement: dict[str, Any] | None = None, **node: Any
) -> str:
    """What `preview` says of a cluster of these versions; empty where it goes on."""
    nodes = [NODE | {"name": "other", "version": "2.0.5"}]
    nodes += [NODE | {"name": name, "version": version} | node for name, version in clients.items()]
    config = CONFIG | ({"placement": placement} if placement else {})
    prefetch: Any = Answers(
        servers=[{"name": name, "version": version} for name, version in servers.items()], nodes=nodes
    )
    try:
        preflight.check(settings.parse(config), planned(config), prefetch)
    except SettingsError as error:
        return str(error)
    return ""


@pytest.fixture(autouse=True)
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(pulumi, "warn", said.append)
    return said


@pytest.mark.parametrize("version", ["2.0.5", "2.1.0-dev", "1.11.9+ent", "1.10.15+ent", "2.0.5+ent"])
def test_versions_without_a_known_fault_go_on_without_a_word(version: str, warned: list[str]) -> None:
    assert refused({"s1": version}, {"c1": version}) == ""
    assert warned == []


@pytest.mark.parametrize(
    ("version", "issues"),
    [
        ("1.10.5", ["GH-26831", "GH-27176"]),
        ("1.11.0", ["GH-27176", "GH-27262"]),
        ("1.11.1", ["GH-27262"]),
        ("1.11.1+ent", ["GH-27262"]),
        ("1.10.5+ent", ["GH-26831", "GH-27176"]),
        ("1.10.6+ent", ["GH-27176"]),
        ("1.8.4", ["GH-26831", "GH-27176"]),
    ],
)
def test_a_server_is_refused_for_what_is_wrong_with_its_version(version: str, issues: list[str]) -> None:
    said = refused({"s1": version, "s2": version, "s3": "2.0.5"}, {})
    assert f"the version of Nomad server s1, s2 is {version}: " in said
    assert [issue for issue in ("GH-26831", "GH-27176", "GH-27262", "GH-27548") if issue in said] == issues
    newer = "1.11.9+ent" if version == "1.11.1+ent" else "1.10.15+ent" if "+ent" in version else "2.0.5"
    assert f"Upgrade to {newer} or newer, the servers first." in said


def test_the_release_that_fixed_it_is_named_for_the_line_that_runs() -> None:
    assert "GH-26831, fixed in 1.11.0)" in refused({"s1": "1.10.5"}, {})
    assert "GH-26831, fixed in 1.10.6+ent)" in refused({"s1": "1.10.5+ent"}, {})


TASKS = ["CVE-2026-6959", "CVE-2026-7474", "CVE-2026-14891", "CVE-2026-14896"]
SERVERS = ["CVE-2026-7474", "GH-27832", "GH-27852", "GH-28275", "GH-28394"]


@pytest.mark.parametrize(
    ("version", "of_servers", "of_clients"),
    [
        ("1.11.2", ["GH-27548", *SERVERS], TASKS),
        ("1.11.3", SERVERS, TASKS),
        ("1.12.0", SERVERS, TASKS),
        ("2.0.0", SERVERS, TASKS),
        ("2.0.3", ["GH-28275", "GH-28394"], ["CVE-2026-14891", "CVE-2026-14896"]),
        ("2.0.4", ["GH-28275", "GH-28394"], []),
        ("1.11.4+ent", SERVERS, TASKS),
        ("1.11.5+ent", ["GH-28275", "GH-28394"], ["CVE-2026-14891", "CVE-2026-14896"]),
        ("1.11.8+ent", ["GH-28275", "GH-28394"], []),
        ("1.10.8+ent", ["GH-27548", *(one for one in SERVERS if one != "GH-27852")], TASKS),
        ("1.10.14+ent", ["GH-28275", "GH-28394"], []),
    ],
)
def test_what_is_only_advised_against_is_one_warning_a_version(
    version: str, of_servers: list[str], of_clients: list[str], warned: list[str]
) -> None:
    assert refused({"s1": version}, {}) == ""
    assert refused({"s1": "2.0.5"}, {"c1": version, "c2": version}) == ""
    said = [
        re.fullmatch(r"Nomad (\S+) \((\w+)\) has faults that are fixed in newer versions: (.+?)\. `.*", one)
        for one in warned
    ]
    assert [found.groups() for found in said if found] == [
        (version, what, ", ".join(names)) for what, names in (("server", of_servers), ("client", of_clients)) if names
    ]


def test_servers_and_clients_of_a_version_are_warned_of_together(warned: list[str]) -> None:
    assert refused({"s1": "2.0.3"}, {"c1": "2.0.3"}) == ""
    [said] = warned
    assert said == (
        "Nomad 2.0.3 (server and client) has faults that are fixed in newer versions: GH-28275, GH-28394, "
        "CVE-2026-14891, CVE-2026-14896. `nomad-stateful doctor` says what each does. "
        "Upgrade to 2.0.5 or newer, the servers first."
    )


def test_a_client_is_refused_for_its_own_faults_alone() -> None:
    said = refused({"s1": "2.0.5"}, {"c1": "1.10.5", "c2": "1.11.1", "c3": "2.0.5"})
    assert "the version of Nomad client c1 is 1.10.5: a volume can be unmounted while" in said
    assert "the version of Nomad client c2 is 1.11.1: clients must not be older than 1.11.2" in said
    assert "GH-27176" not in said
    assert "c3" not in said


@pytest.mark.parametrize("elsewhere", [{"status": "down"}, {"nodePool": "gpu"}, {"datacenter": "eu1"}])
def test_a_client_on_which_the_jobs_cannot_run_is_not_asked_about(elsewhere: dict[str, Any]) -> None:
    placement = {"datacenters": ["dc*"], "nodePool": "default"}
    assert refused({"s1": "2.0.5"}, {"c1": "1.10.5"}, placement) != ""
    assert refused({"s1": "2.0.5"}, {"c1": "1.10.5"}, placement, **elsewhere) == ""
