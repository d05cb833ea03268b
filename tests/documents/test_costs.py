"""docs/costs.md: its three sums follow from its prices by its formula; its prices are the preview report's."""

import json
import re
from collections.abc import Mapping

import pytest

from tests.documents.pages import TOP

TEXT = (TOP / "docs/costs.md").read_text(encoding="utf-8")
PRICES = {
    name: float(price) for name, price in re.findall(r"^\| ([A-Z]) \| [^|]+ \| ([\d.]+) \| \[", TEXT, re.MULTILINE)
}
# GiB in use, that change a day, of a dump, of the dumps' volume; and the data volume's own price.
SIZES: Mapping[str, tuple[float, float, float, float, float]] = {
    "small": (20, 0.4, 5, 40, 40 * PRICES["G"]),
    "medium": (300, 6, 75, 600, 500 * PRICES["G"] + 3000 * PRICES["I"] + 125 * PRICES["T"]),
    "large": (1400, 28, 350, 2800, 2000 * PRICES["O"] + 16000 * PRICES["P"]),
}


def column(size: str) -> dict[str, str]:
    """The cells under a size, by what their row is called."""
    table = TEXT[TEXT.index("## Three sizes") :]
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    at = rows[0].index(size)
    return {row[0]: row[at] for row in rows[2:] if len(row) == len(rows[0])}


@pytest.mark.parametrize("size", SIZES)
def test_a_sizes_sum_follows_from_the_prices(size: str) -> None:
    used, day, dump, dumps_volume, data = SIZES[size]
    cells = column(size)
    assert cells["in use; changes a day; a dump"] == f"{used:g}; {day:g}; {dump:g} GiB"
    parts = {
        "data volume": data,
        "dumps' volume": dumps_volume * PRICES["G"],
        "snapshots, 14 days": (used + 14 * day) * PRICES["S"],
        "copies, 30 days, in the other region": (used + 30 * day) * PRICES["S"],
        "transfer of the copies": 30 * day * PRICES["X"],
        "dumps in S3, 35 days": 35 * dump * PRICES["B"],
        "KMS key": PRICES["K"],
    }
    # A cent is a matter of rounding.
    assert {name: float(cells[name]) for name in parts} == pytest.approx(parts, abs=0.011)
    whole = sum(parts.values())
    assert float(cells["a month, USD"]) == pytest.approx(whole, abs=0.011)
    without = whole - parts["dumps' volume"] - parts["dumps in S3, 35 days"]
    assert float(cells["without dumps (snapshots alone)"]) == pytest.approx(without, abs=0.011)


def test_the_preview_report_counts_with_the_same_prices() -> None:
    table = json.loads((TOP / "tools/preview_report/prices.json").read_text(encoding="utf-8"))
    types = table["types"]
    gp3, io2 = types["gp3"], types["io2"]
    told = [PRICES[name] for name in "GITOP"]
    assert told == [gp3["gib"], gp3["iops"][1][1], gp3["throughput_mibps"][1][1], io2["gib"], io2["iops"][0][1]]
    assert [[200, PRICES["L"]], [300, PRICES["M"]]] == table["initialization"]["gib_by_mibps"]
