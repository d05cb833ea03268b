"""What it costs once that AWS loads the blocks of a restored volume's snapshot at a rate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tools.preview_report.cost import Prices
from tools.preview_report.document import Preview
from tools.preview_report.values import has_unknown

_VOLUME: Final = "aws:ebs/volume:Volume"
_RATE: Final = "volumeInitializationRate"
_MADE: Final = ("create", "replace", "create-replacement")
"""Only creation loads blocks, and is charged: a rate that is set, changed or removed later is without effect."""


@dataclass(frozen=True)
class Fee:
    """A new volume's fee; `most` is None when it cannot be told."""

    name: str
    size: str
    rate: str
    most: float | None
    """For a snapshot that is as large as the volume: EC2 bills its full size, which no preview knows."""


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
