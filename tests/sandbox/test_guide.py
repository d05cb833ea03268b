"""docs/guide.md as it stands, from the bucket of the state to the last destroy: in the sandbox, with S3 and KMS."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.documents.guide import script
from tests.iam import evaluator
from tests.iam.evaluator import judge
from tests.iam.record import requests
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

NAMES = [
    "state",
    "permissions",
    "metadata",
    "tokens",
    "preview",
    "up",
    "ci",
    "snapshot",
    "schedule",
    "move",
    "destroy",
]
"""The blocks that run here, in the page's order; docs/guide.md and this list are held to each other."""


class Reader:
    """Somebody who types the guide's blocks one after the other in one shell."""

    def __init__(self, stack: Running) -> None:
        self.stack = stack
        management = (stack.project / ".sandbox/nomad/management.token").read_text().strip()
        self._env = {
            **{name: value for name, value in stack.env.items() if not name.startswith("PULUMI_CONFIG_PASSPHRASE")},
            "PATH": f"{stack.project}/.venv/bin:{stack.env['PATH']}",
            "NOMAD_TOKEN": management,
            "AWS_REGION": "us-west-2",
            "ACCOUNT": "123456789012",
            "STACK": "guide",
            "CLIENT_ROLE": "nomad-client",
            "STATE_BUCKET": "guide-state",
            "STATE_KEY": "alias/guide-state",
        }

    def types(self, name: str) -> str:
        """Runs a block in the shell that the blocks before have left behind; both outputs of it."""
        before = self.stack.project / "environment"
        done = subprocess.run(
            ["bash", "-ec", f'{script(name)}\nenv -0 >"$0"', str(before)],
            cwd=self.stack.project,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        self._env = dict(line.split("=", 1) for line in before.read_text().split("\0") if "=" in line)
        return done.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    running = Running.prepare(tmp_path_factory.mktemp("guide"))
    settings = (running.project / "Pulumi.dev.yaml").read_text()
    (running.project / "Pulumi.guide.yaml").write_text(settings.replace("protect: false", "protect: true"))
    with running.up("--no-stack"):
        yield Reader(running)


def test_the_guide_leads_from_nothing_to_mysql_in_two_zones_and_back(reader: Reader) -> None:
    said = {name: reader.types(name) for name in NAMES}
    assert said["metadata"].count('"HttpPutResponseHopLimit": 2') == 3
    assert "0 problems" in said["preview"]
    assert "to create" in said["preview"]
    assert "All 10 rows were read back" in said["up"]
    assert "GREEN" in said["snapshot"]
    assert "LifecyclePolicy" in said["schedule"]
    assert "mysql-server on client-3" in said["move"]
    assert "the contents of volume mysql are in snapshot snap-" in said["destroy"]
    # The secrets' key is KMS's: no passphrase was asked for, and the stack's file has none of its salt.
    assert "secretsprovider: awskms://" in (reader.stack.project / "Pulumi.guide.yaml").read_text()


@pytest.mark.skipif(bool(evaluator.missing()), reason=f"missing here: {evaluator.missing()}")
def test_all_that_pulumi_and_operate_asked_of_ec2_is_allowed_by_the_guides_policy(reader: Reader) -> None:
    """The callers with an access key are the reader; the driver has the role of its instance."""
    iam = reader.stack.aws("iam")
    arn = "arn:aws:iam::123456789012:policy/nomad-stateful-guide-pulumi"
    policy: Any = iam.get_policy_version(PolicyArn=arn, VersionId="v1")["PolicyVersion"]["Document"]
    log = (reader.stack.project / ".sandbox/log/ec2-calls.jsonl").read_text().splitlines()
    calls = [call for call in map(json.loads, log) if call["service"] == "ec2" and not call["caller"]]
    first = next(number for number, call in enumerate(calls) if call["action"] == "CreateVolume")
    # What comes before made and set up the instances; a drill has a policy of its own (docs/drills.md).
    asked = requests(call for call in calls[first:] if "nomad-stateful-drill" not in json.dumps(call))
    verdicts = judge([policy], asked)[0]
    assert {"ec2:CreateVolume", "ec2:DeleteVolume", "ec2:CreateSnapshot"} <= {one.action for one in asked}
    assert [one for one, allowed in zip(asked, verdicts, strict=True) if not allowed] == []
