"""What the stack is checked for would be found: a secret in each kind of place, an upgrade that loses something."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.whole_stack import scanned, whole_stack
from tests.secrets.planting import KINDS, planted
from tests.upgrade import upgrading
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with whole_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


def test_a_planted_secret_is_found_in_each_kind_of_place(stack: Running) -> None:
    with planted(stack, stack.outputs()["mysqlPassword"]):
        findings, _ = scanned(stack)
    assert {finding.kind for finding in findings} == KINDS
    assert {finding.secret for finding in findings} == {"secret of mysql-password"}
    assert {finding.encoding for finding in findings} == {"plain", "base64", "hex"}


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
