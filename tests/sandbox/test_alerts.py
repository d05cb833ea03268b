"""Every alert of metrics/rules.yaml fires when its cause happens, and clears when it is cured, in a Prometheus that is
configured as docs/metrics.md says; times of the rules are shorter.
"""

from collections.abc import Iterator

import pytest
import yaml

from tests.sandbox.alerts import expressions
from tests.sandbox.alerts.causes import CAUSES, Cause
from tests.sandbox.alerts.prometheus import Watch, missing, watched
from tools.trial.running import Running, eventually

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.engine,
    pytest.mark.nomad,
    pytest.mark.nightly,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    configure(running)
    with running.up("--all-images"), watched(running, tmp_path_factory.mktemp("watch")) as watch:
        yield watch


def configure(running: Running) -> None:
    """The sandbox's stack with metrics, dumps and scheduled snapshots."""
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config = whole["config"]
    # Debian's, whatever their versions are.
    images = {"mysql": {"image": "prom/mysqld-exporter:v0"}, "volumes": {"image": "prom/node-exporter:v1"}}
    config["nomad-stateful:metrics"] = images
    volumes = config["nomad-stateful:volumes"]
    volumes.append({**volumes[0], "name": "dumps"})
    volumes[0]["snapshots"] = [{"name": "daily", "schedule": "0 3 * * *", "keep": 7}]
    config["nomad-stateful:mysql"]["backup"] = {"volume": "dumps", "schedule": "@yearly", "keep": 2}
    path.write_text(yaml.safe_dump(whole))


@pytest.fixture(scope="module")
def table() -> Iterator[list[tuple[str, ...]]]:
    """Rows of docs/metrics.md, printed at the end."""
    rows: list[tuple[str, ...]] = []
    yield rows
    print("\n\n| alert | cause | fires after s | clears after s |\n| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {' | '.join(row)} |")


@pytest.mark.parametrize("cause", CAUSES, ids=lambda one: one.name)
def test_an_alert_fires_and_clears(watch: Watch, cause: Cause, table: list[tuple[str, ...]]) -> None:
    table.append(cause.happen(watch))
    print(*table[-1], sep=" | ", flush=True)


def test_dashboard_and_rules_have_data_where_all_is_well(watch: Watch) -> None:
    asked = [*expressions.of_dashboard(), *expressions.of_recordings(), *expressions.of_alerts()]
    assert set(expressions.EMPTY) <= {name for name, _ in asked}

    def silent() -> list[tuple[str, str]]:
        return [(name, one) for name, one in asked if name not in expressions.EMPTY and not watch.prometheus.query(one)]

    # The last cure may have started what is measured.
    eventually(lambda: None if silent() else True, 60, "data of every expression", lambda: yaml.safe_dump(silent()))
    for name, one in asked:
        print(f"{len(watch.prometheus.query(one)):4} {name}: {one}")
