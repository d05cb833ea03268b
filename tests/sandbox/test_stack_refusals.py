"""What a preview refuses of a stack that is not there yet: bad input, and a Nomad or AWS that does not answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.whole_stack import changed, whole_stack
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with whole_stack(tmp_path_factory.mktemp("project"), "--no-stack") as running:
        made = running.run("pulumi", "stack", "init", "dev", "--non-interactive")
        assert made.returncode == 0, made.stdout + made.stderr
        yield running


# By preview: what contradicts another case, or is seen at a later stage, needs one of its own.
BAD_INPUT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "settings": (
        {
            "mysql.prot": 3306,
            "volumes.0.sizeGib": 0,
            "volumes.1.sizeGib": 1.5,
            "volumes.2": {"name": "fast", "zone": "us-west-2a", "sizeGib": 1, "type": "gp2", "iops": 3000},
            "plugins.0.id": "aws ebs0",
        },
        [
            "mysql.prot is set: there is no such setting",
            "volumes.mysql.sizeGib is 0: must be a whole number of GiB",
            "volumes.archive.sizeGib is 1.5: must be a whole number of GiB",
            "volumes.fast.iops is 3000: a gp2 volume has no",
            "plugins.aws ebs0.id is aws ebs0: must start with",
        ],
    ),
    "names": ({"volumes.1.name": "mysql"}, ["volumes.mysql.name is mysql: 2 volumes have this name"]),
    "account": (
        {"volumes.0.zone": "us-east-1f", "clientRole": "nobody"},
        [
            "volumes.mysql.zone is us-east-1f: the region us-west-2 has no such zone. Use one of us-west-2a, us-west-2",
            "clientRole is nobody: the role cannot be read",
        ],
    ),
}


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
