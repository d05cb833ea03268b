"""The whole way on the real engine: up, nothing more to do, bad input refused, rows outlive what happens, destroy."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from nomad_stateful.nomad.running_job import Endpoint
from tests import official_parts
from tests.iam import evaluator, record
from tests.secrets.__main__ import scan
from tests.secrets.planting import KINDS, planted
from tests.secrets.scan import Finding
from tests.upgrade import upgrading
from tools.trial.instances import (
    AGENT,
    SERVER,
    instance_of,
    kill_inside,
    node_plugins,
    pid_inside,
    plugin_reports,
    reported_since,
)
from tools.trial.running import Running, eventually, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

TABLE = (
    "CREATE DATABASE IF NOT EXISTS t",
    "CREATE TABLE IF NOT EXISTS t.rows (id INT PRIMARY KEY, writer CHAR(36))",
)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up(*official_parts.words()):
        yield running


@pytest.mark.official(official_parts.NOMAD)
def test_the_whole_way_is_gone_on_the_official_nomad_plugin(stack: Running) -> None:
    folder = stack.project / f".sandbox/pulumi-home/plugins/resource-nomad-v{version('pulumi-nomad')}"
    assert official_parts.is_official(folder / "pulumi-resource-nomad")


def write(stack: Running, at: Endpoint, number: int) -> None:
    stack.sql(at, *TABLE, f"INSERT INTO t.rows VALUES ({number}, '{at.allocation_id}')")


def numbers(stack: Running, at: Endpoint) -> list[int]:
    return [row[0] for row in stack.sql(at, "SELECT id FROM t.rows ORDER BY id")]


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


def scanned(stack: Running) -> tuple[list[Finding], Counter[str]]:
    """Secrets found in the sandbox, and the kinds of place looked at."""
    home = stack.project / ".sandbox"
    return scan(stack.env, stack.project, (home / "nomad/management.token").read_text().strip(), (home,))


def test_no_secret_is_anywhere_but_in_its_own_place(stack: Running) -> None:
    findings, looked = scanned(stack)
    assert findings == []
    # A place that cannot be looked at any more must not pass for a clean one.
    assert KINDS | {"engine", "nomad", "command"} == set(looked)


def test_a_planted_secret_is_found_in_each_kind_of_place(stack: Running) -> None:
    with planted(stack, stack.outputs()["mysqlPassword"]):
        findings, _ = scanned(stack)
    assert {finding.kind for finding in findings} == KINDS
    assert {finding.secret for finding in findings} == {"secret of mysql-password"}
    assert {finding.encoding for finding in findings} == {"plain", "base64", "hex"}


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


def test_an_upgrade_that_lost_a_volume_is_refused(stack: Running, tmp_path: Path) -> None:
    """Were a volume's name in the program another, the engine would make a new one and delete the old."""
    with pytest.raises(AssertionError, match=r"volume archive is vol-\w+, which would be replaced by an empty one"):
        upgrading.plan(
            stack,
            upgrading.releases()[0],
            tmp_path,
            lambda text: text.replace("::ebs-archive-us-west-2b", "::ebs-archive"),
        )


def test_an_upgrade_that_lost_a_password_would_be_found(stack: Running, tmp_path: Path) -> None:
    plan = upgrading.plan(
        stack, upgrading.releases()[0], tmp_path, lambda text: text.replace("::mysql-password", "::mysql-old-password")
    )
    assert plan.losses == ["delete mysql-old-password"]


# By preview: what contradicts another case, or is seen at a later stage, needs one of its own.
BAD_INPUT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "settings": (
        {"mysql.prot": 3306, "volumes.0.sizeGib": 0, "volumes.1.sizeGib": 1.5, "plugins.0.id": "aws ebs0"},
        [
            "mysql.prot is set: there is no such setting",
            "volumes.mysql.sizeGib is 0: must be a whole number of GiB",
            "volumes.archive.sizeGib is 1.5: must be a whole number of GiB",
            "plugins.aws ebs0.id is aws ebs0: must start with",
        ],
    ),
    "iops": ({"volumes.0.type": "gp2", "volumes.0.iops": 3000}, ["volumes.mysql.iops is 3000: a gp2 volume has no"]),
    "names": ({"volumes.1.name": "mysql"}, ["volumes.mysql.name is mysql: 2 volumes have this name"]),
    "account": (
        {"volumes.0.zone": "us-east-1f", "clientRole": "nobody"},
        [
            "volumes.mysql.zone is us-east-1f: the region us-west-2 has no such zone. Use one of us-west-2a, us-west-2",
            "clientRole is nobody: the role cannot be read",
        ],
    ),
}


def changed(stack: Running, changes: dict[str, Any], path: Path) -> Path:
    """A copy of the stack's configuration with changes by dotted path."""
    config = yaml.safe_load((stack.project / "Pulumi.dev.yaml").read_text())
    for dotted, value in changes.items():
        top, *path_in = dotted.split(".")
        keys: list[Any] = [f"nomad-stateful:{top}", *(int(key) if key.isdigit() else key for key in path_in)]
        target: Any = config["config"]
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.parametrize("stage", BAD_INPUT)
def test_bad_input_is_refused_at_preview(stack: Running, tmp_path: Path, stage: str) -> None:
    changes, expected = BAD_INPUT[stage]
    config = changed(stack, changes, tmp_path / "Pulumi.dev.yaml")
    preview = stack.run("pulumi", "preview", "--non-interactive", "--config-file", str(config))
    printed = preview.stdout + preview.stderr
    assert preview.returncode != 0
    assert [sentence for sentence in expected if sentence not in printed] == [], printed
    assert "nothing was created" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(("variable", "what"), [("NOMAD_ADDR", "Nomad is not usable"), ("AWS_ENDPOINT_URL", "AWS")])
def test_an_unreachable_nomad_or_aws_is_refused_at_preview(stack: Running, variable: str, what: str) -> None:
    nowhere = "http://127.0.0.1:9"
    preview = stack.run("pulumi", "preview", "--non-interactive", more_env={variable: nowhere})
    printed = preview.stdout + preview.stderr
    assert preview.returncode != 0
    assert what in printed
    assert "127.0.0.1:9" in printed
    assert "Traceback" not in printed


def test_verify_proves_that_rows_outlive_a_purge_and_a_drain(stack: Running) -> None:
    verify = stack.run(stack.python, "-m", "operate", "verify", timeout_s=600)
    assert verify.returncode == 0, verify.stdout + verify.stderr
    proof = re.findall(r"^(?:first|after).*?([0-9a-f-]{36}) +(client-\d)", verify.stdout, re.MULTILINE)
    assert len({allocation for allocation, _ in proof}) == 3
    assert proof[1][1] != proof[2][1]


def test_mysql_killed_comes_back_with_its_rows(stack: Running) -> None:
    at = stack.mysql_endpoint()
    write(stack, at, 1)
    before = pid_inside(stack, at.node_name, SERVER)
    assert before
    kill_inside(stack, at.node_name, before)
    eventually(lambda: pid_inside(stack, at.node_name, SERVER) not in (0, before) or None, 240, "a new server process")
    assert 1 in numbers(stack, stack.mysql_endpoint())


def test_a_killed_client_agent_comes_back_and_mysql_never_stopped(stack: Running) -> None:
    at = stack.mysql_endpoint()
    write(stack, at, 2)
    server, agent = (pid_inside(stack, at.node_name, pattern) for pattern in (SERVER, AGENT))
    assert agent
    before = plugin_reports(stack, at.node_id)
    assert "Nodes" in before
    kill_inside(stack, at.node_name, agent)
    eventually(lambda: pid_inside(stack, at.node_name, AGENT) not in (0, agent) or None, 240, "a new agent")
    again = "the client's plugins reported by the new agent"
    eventually(lambda: reported_since(plugin_reports(stack, at.node_id), before) or None, 120, again)
    eventually(lambda: node_plugins(stack) == 3 or None, 120, "the client and its node plugin ready again")
    assert 2 in numbers(stack, stack.mysql_endpoint())
    assert pid_inside(stack, at.node_name, SERVER) == server


def test_mysql_moves_to_the_zones_other_client_when_its_instance_dies(stack: Running) -> None:
    at = stack.mysql_endpoint()
    write(stack, at, 3)
    instance = instance_of(stack, at.node_name)
    stack.ec2.stop_instances(InstanceIds=[instance], Force=True)
    moved = stack.mysql_endpoint(not_allocation=at.allocation_id, timeout_s=240)
    assert moved.node_name != at.node_name
    assert {1, 2, 3} <= set(numbers(stack, moved))
    stack.ec2.start_instances(InstanceIds=[instance])
    eventually(lambda: node_plugins(stack) == 3 or None, 120, "the client and its node plugin ready again")


@pytest.mark.skipif(bool(evaluator.missing()), reason=f"missing here: {evaluator.missing()}")
def test_all_that_the_driver_called_is_allowed_by_the_policy_that_is_attached(stack: Running) -> None:
    calls = record.calls(stack.project / ".sandbox/log/ec2-calls.jsonl", "nomad-client")
    asked = record.requests(calls)
    assert "ec2:AttachVolume" in {request.action for request in asked}
    (policy,) = stack.attached_policies("nomad-client")
    verdicts = evaluator.judge([policy], asked)[0]
    assert [request for request, allowed in zip(asked, verdicts, strict=True) if not allowed] == []


def test_a_changed_registration_is_replaced_under_a_running_server_in_the_safe_order(
    stack: Running, tmp_path: Path
) -> None:
    at = stack.mysql_endpoint()
    write(stack, at, 4)
    config = changed(stack, {"volumes.0.mountFlags": ["noatime"]}, tmp_path / "Pulumi.dev.yaml")
    words = ("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--config-file", str(config))
    update = stack.run(*words)
    assert update.returncode == 0, update.stdout + update.stderr
    assert "stopping job mysql-server" in update.stdout
    assert 4 in numbers(stack, stack.mysql_endpoint(not_allocation=at.allocation_id))


def test_after_a_destroy_that_stopped_before_the_volume_the_rows_can_be_reached_again(stack: Running) -> None:
    write(stack, stack.mysql_endpoint(), 5)
    before = stack.outputs()["mysqlPassword"]
    listed = json.loads(stack.run("pulumi", "stack", "export").stdout)["deployment"]["resources"]
    (secret,) = [one["urn"] for one in listed if one["urn"].endswith("::mysql-password")]
    words = ("--yes", "--skip-preview", "--non-interactive", "--target", secret, "--target-dependents")
    half = stack.run("pulumi", "destroy", *words)
    assert half.returncode == 0, half.stdout + half.stderr
    again = stack.sandbox("up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert stack.outputs()["mysqlPassword"] != before
    assert 5 in numbers(stack, stack.mysql_endpoint())


def test_destroy_works_on_a_running_stack_and_nothing_is_left(stack: Running) -> None:
    down = stack.sandbox("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert {kind: found for kind, found in traces(stack.ground.name, stack.project / ".sandbox").items() if found} == {}
    again = stack.sandbox("down")
    assert again.returncode == 0, again.stderr
