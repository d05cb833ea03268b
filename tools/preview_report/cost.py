"""What the change does to the monthly price of the EBS volumes, and what it costs once that AWS loads a restored
volume's blocks at a rate: estimated from a table of list prices.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.preview_report.document import Preview, State, Step
from tools.preview_report.values import has_unknown

PRICES: Final = Path(__file__).with_name("prices.json")
_VOLUME: Final = "aws:ebs/volume:Volume"
_DEFAULT_TYPE: Final = "gp2"
"""What EC2 makes when no type is given."""
_RATE: Final = "volumeInitializationRate"
_MADE: Final = ("create", "replace", "create-replacement")
"""Only creation loads blocks, and is charged: a rate that is set, changed or removed later is without effect."""


@dataclass(frozen=True)
class Prices:
    """List prices per month; a tier is the amount up to which (None: without limit) a unit has its price."""

    as_of: str
    source: str
    region: str
    currency: str
    types: Mapping[str, Mapping[str, Any]]
    initialization: Mapping[str, Any]
    """Of a GiB that is loaded at a rate: `gib_by_mibps`, by the highest MiB/s of each tier; with its own source."""


@dataclass(frozen=True)
class VolumeCost:
    """A volume's price per month before and after; None when it cannot be told."""

    name: str
    before: float | None
    after: float | None
    was: str
    becomes: str


@dataclass(frozen=True)
class Fee:
    """A new volume's fee; `most` is None when it cannot be told."""

    name: str
    size: str
    rate: str
    most: float | None
    """For a snapshot that is as large as the volume: EC2 bills its full size, which no preview knows."""


def load_prices(path: Path = PRICES) -> Prices:
    """The price table; its file says when and where its prices are from."""
    table = json.loads(path.read_text(encoding="utf-8"))
    known = ("as_of", "source", "region", "currency", "types")
    return Prices(**{key: table[key] for key in known}, initialization=table.get("initialization") or {})


def volume_costs(preview: Preview, prices: Prices) -> list[VolumeCost]:
    """One line for each EBS volume whose price changes, or may."""
    costs = [_volume(step, prices) for step in preview.steps if step.type == _VOLUME and step.operation != "same"]
    return [cost for cost in costs if cost.before is None or cost.after is None or cost.before != cost.after]


def monthly(inputs: Mapping[str, Any], prices: Prices) -> float | None:
    """The price per month of a volume with these inputs; None when the table or the preview does not know."""
    size, iops, throughput = (inputs.get(key) or 0 for key in ("size", "iops", "throughput"))
    price = prices.types.get(str(inputs.get("type") or _DEFAULT_TYPE))
    numbers = (size, iops, throughput)
    if price is None or not size or not all(isinstance(number, (int, float)) for number in numbers):
        return None
    return float(
        size * price["gib"]
        + _tiered(iops, price.get("iops", ()))
        + _tiered(throughput, price.get("throughput_mibps", ()))
    )


def _tiered(amount: float, tiers: Sequence[Sequence[float | None]]) -> float:
    total, reached = 0.0, 0.0
    for limit, price in tiers:
        upper = amount if limit is None else min(amount, limit)
        total += max(0.0, upper - reached) * (price or 0.0)
        reached = max(reached, upper)
    return total


def _volume(step: Step, prices: Prices) -> VolumeCost:
    goes = step.operation in ("delete", "delete-replaced", "discard", "discard-replaced")
    comes = step.operation in ("create", "create-replacement", "import", "import-replacement")
    old, new = None if comes else step.old, None if goes else step.new
    return VolumeCost(
        step.name,
        0.0 if old is None else monthly(old.inputs, prices),
        0.0 if new is None else monthly(new.inputs, prices),
        _described(old),
        _described(new),
    )


def _described(state: State | None) -> str:
    if state is None:
        return ""
    inputs = state.inputs
    words = [f"{inputs['size']} GiB"] if inputs.get("size") and not has_unknown(inputs["size"]) else []
    words.append(str(inputs.get("type") or _DEFAULT_TYPE))
    words += [f"{inputs[key]} {unit}" for key, unit in (("iops", "IOPS"), ("throughput", "MiB/s")) if inputs.get(key)]
    return " ".join(words)


def fees(preview: Preview, prices: Prices) -> list[Fee]:
    """One for each EBS volume that is made from a snapshot with a rate."""
    made = [step for step in preview.steps if step.type == _VOLUME and step.operation in _MADE and step.new]
    return [
        Fee(step.name, _number(inputs.get("size"), "GiB"), _number(inputs[_RATE], "MiB/s"), _most(inputs, prices))
        for step in made
        if step.new and (inputs := step.new.inputs).get(_RATE)
    ]


def _most(inputs: Mapping[str, Any], prices: Prices) -> float | None:
    size, rate = inputs.get("size"), inputs[_RATE]
    if not isinstance(size, (int, float)) or not isinstance(rate, (int, float)):
        return None
    tiers = prices.initialization.get("gib_by_mibps", ())
    return next((float(size * price) for highest, price in tiers if rate <= highest), None)


def _number(value: Any, unit: str) -> str:
    return "not known" if value is None or has_unknown(value) else f"{value} {unit}"
