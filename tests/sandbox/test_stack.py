"""The whole way on the real engine: up, nothing more to do, no secret in sight, an upgrade without loss, destroy."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import pytest

from tests import official_parts
from tests.sandbox.whole_stack import scanned, whole_stack
from tests.secrets.planting import KINDS
from tests.upgrade import upgrading
from tools.trial.running import Running, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with whole_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


@pytest.mark.official(official_parts.NOMAD)
def test_the_whole_way_is_gone_on_the_official_nomad_plugin(stack: Running) -> None:
    folder = stack.project / f".sandbox/pulumi-home/plugins/resource-nomad-v{version('pulumi-nomad')}"
    assert official_parts.is_official(folder / "pulumi-resource-nomad")


def test_a_second_up_changes_nothing_and_says_so(stack: Running) -> None:
    again = stack.sandbox("up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "nothing changed" in again.stdout.lower()


def test_a_preview_after_up_is_empty(stack: Running) -> None:
    preview = stack.run("pulumi", "preview", "--expect-no-changes", "--non-interactive")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_a_preview_after_a_refresh_is_empty_too(stack: Running) -> None:
    preview = stack.run("pulumi", "preview", "--refresh", "--expect-no-changes", "--non-interactive")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_the_outputs_name_volumes_health_and_address(stack: Running) -> None:
    known = stack.outputs()
    assert known["volumes"]["mysql"]["id"].startswith("vol-")
    assert known["plugins"]["aws-ebs0"]["topologyKey"] == "topology.ebs.csi.aws.com/zone"
    assert known["plugins"]["aws-ebs0"]["health"]["zones_healthy"] == {"us-west-2a": 2, "us-west-2b": 1}
    assert {name: volume["nomadId"] for name, volume in known["volumes"].items()} == {
        "archive": "archive",
        "mysql": "mysql",
    }
    at = stack.mysql_endpoint()
    assert (known["mysql"]["host"], known["mysql"]["port"]) == (at.host, at.port)


def test_the_doctor_finds_nothing_wrong(stack: Running) -> None:
    done = stack.run(stack.python, "-m", "operate", "doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    known = json.loads(done.stdout)
    open_ = [check for check in known["checks"] if check["state"] == "not checked"]
    # The sandbox's IAM simulates no permissions; everything else can be asked there.
    assert {check["group"] for check in open_} <= {"IAM"}, open_
    assert "SimulatePrincipalPolicy" in open_[0]["notChecked"]


def test_nothing_holds_up_what_runs(stack: Running) -> None:
    done = stack.run(stack.python, "-m", "operate", "explain", "mysql-server")
    assert (done.returncode, done.stdout) == (0, "job mysql-server: in order, nothing holds it up\n"), done.stderr


def test_no_secret_is_anywhere_but_in_its_own_place(stack: Running) -> None:
    findings, looked = scanned(stack)
    assert findings == []
    # A place that cannot be looked at any more must not pass for a clean one.
    assert KINDS | {"engine", "nomad", "command"} == set(looked)


@pytest.mark.parametrize("version", upgrading.releases())
def test_an_upgrade_from_a_release_deletes_and_replaces_nothing_that_holds_data(
    stack: Running, tmp_path: Path, version: str
) -> None:
    plan = upgrading.plan(stack, version, tmp_path)
    print(f"an upgrade from {version} would: {', '.join(plan.changes) or 'change nothing'}")
    assert plan.losses == []
    assert plan.resources > 20
    told = upgrading.documented(version)
    assert [change for change in plan.changes if not any(fnmatchcase(change, pattern) for pattern in told)] == []
    assert [pattern for pattern in told if not any(fnmatchcase(change, pattern) for change in plan.changes)] == []


def test_destroy_works_on_a_running_stack_and_nothing_is_left(stack: Running) -> None:
    down = stack.sandbox("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert {kind: found for kind, found in traces(stack.ground.name, stack.project / ".sandbox").items() if found} == {}
    again = stack.sandbox("down")
    assert again.returncode == 0, again.stderr
