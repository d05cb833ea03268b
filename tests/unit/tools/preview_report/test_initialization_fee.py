"""The report on volumes that are restored with a rate: what that costs once."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tools.preview_report.cost import Prices, load_prices
from tools.preview_report.document import parse
from tools.preview_report.report import make_report

VOLUME = "aws:ebs/volume:Volume"
HEADING = "### One-time fee of the restored volumes"
RESTORED = {"type": "gp3", "size": 100, "snapshotId": "snap-0123456789abcdef0", "volumeInitializationRate": 200}
NO_NUMBER_YET = "3eeb2bf0-c639-47a8-9e75-3b44932eb421"


def report(*changes: tuple[str, dict[str, Any]], prices: Prices | None = None) -> str:
    """The report on changes of EBS volumes, each named ebs-0, ebs-1, ..."""
    steps = []
    for number, (operation, inputs) in enumerate(changes):
        state = {"type": VOLUME, "inputs": inputs}
        steps.append({"op": operation, "urn": f"urn:pulumi:dev::p::{VOLUME}::ebs-{number}", "newState": state})
        if operation != "create":
            steps[-1]["oldState"] = state
    document = {"steps": steps, "diagnostics": [], "changeSummary": {}}
    return make_report(parse(json.dumps(document)), [], ("allow-data-loss",), [], prices or load_prices()).text


@pytest.mark.parametrize(("rate", "most"), [(100, "0.24"), (200, "0.24"), (201, "0.36"), (300, "0.36")])
def test_a_restored_volume_has_a_fee_by_its_rate(rate: int, most: str) -> None:
    text = report(("create", {**RESTORED, "volumeInitializationRate": rate}))
    assert f"| `ebs-0` | 100 GiB | {rate} MiB/s | ≤ {most} |" in text
    assert f"**At most {most} USD, once**, not in the sum a month" in text
    assert "**+8.00 USD a month**" in text


def test_the_fees_of_several_volumes_are_summed_once() -> None:
    text = report(("create", RESTORED), ("replace", {**RESTORED, "volumeInitializationRate": 300}))
    assert "**At most 0.60 USD, once**" in text
    assert text.count(HEADING) == 1


@pytest.mark.parametrize("operation", ["update", "import", "delete", "same"])
def test_only_a_volume_that_is_made_has_a_fee(operation: str) -> None:
    assert HEADING not in report((operation, RESTORED))


def test_a_volume_without_a_rate_has_no_fee() -> None:
    assert HEADING not in report(("create", {**RESTORED, "volumeInitializationRate": None}))


def test_a_fee_that_the_table_does_not_know_is_told_and_not_guessed() -> None:
    text = report(("create", RESTORED), prices=replace(load_prices(), initialization={}))
    assert "**A fee that the price table does not know**" in text
    assert "| `ebs-0` | 100 GiB | 200 MiB/s | not known |" in text


def test_a_size_that_is_known_only_afterwards_leaves_the_sum_open() -> None:
    text = report(("create", RESTORED), ("create", {**RESTORED, "size": NO_NUMBER_YET}))
    assert "**At most 0.24 USD, once and what is not known**" in text
    assert "| `ebs-1` | not known | 200 MiB/s | not known |" in text
