"""Each block of docs/guide.md is run in the sandbox, or the page says that it needs an account."""

import re
import subprocess

import pytest

from nomad_stateful.operate.doctor.checks import account
from tests.documents.guide import PAGE, Block, blocks
from tests.documents.pages import TOP
from tests.sandbox.test_guide import NAMES


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_each_block_says_how_it_can_be_run(block: Block) -> None:
    assert block.kind in ("run", "account"), f"no mark before, or several: {block.script}"
    checked = subprocess.run(["sh", "-n"], input=block.script, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_sandbox_runs_each_block_that_is_said_to_run_there_in_the_pages_order() -> None:
    assert [block.name for block in blocks() if block.kind == "run"] == NAMES


def test_a_reader_is_told_too() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"<!-- run: .+? --> \*Runs in the sandbox\.\*", text)) == len(NAMES)
    assert len(re.findall(r"<!-- account: .+? --> \*Needs an account: ", text)) == len(blocks()) - len(NAMES)


def test_what_doctor_asks_iam_about_is_in_the_policy_of_the_guide() -> None:
    policy = (TOP / "examples/aws/pulumi.json").read_text(encoding="utf-8")
    wanted = {*account.ROLE_ACTIONS, *account.VOLUME_ACTIONS, *account.SNAPSHOT_ACTIONS}
    assert {action for action in wanted if f'"{action}"' not in policy} == set()
