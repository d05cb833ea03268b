"""The tables of the page, in Markdown."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tools.bench import growth
from tools.bench.growth import Measured
from tools.bench.samples import OK, Sample, ratio, select, summary
from tools.bench.targets import CASES, CONTENDERS
from tools.markdown import table

NONE = "-"
NOT_YET = "Not measured yet."


def cases(samples: Sequence[Sample]) -> str:
    """Every case with a sample: medians with least and most, ratios and target."""
    present = [name for name in CONTENDERS if any(sample.contender == name for sample in samples)]
    others = [name for name in present if name != "ours"]
    rows = []
    for case in CASES:
        found = {name: select(samples, case.case, name, case.measure) for name in present}
        if not any(found.values()):
            continue
        rows.append(
            [
                case.title,
                *(_times(found[name]) for name in present),
                *(_ratio(found.get("ours", []), found[name]) for name in others),
                case.target or NONE,
                case.verdict(samples) or NONE,
            ]
        )
    ratios = [f"ours / {name}" for name in others]
    return table(["seconds: median (least to most)", *present, *ratios, "target", ""], rows)


def failures(samples: Iterable[Sample]) -> str:
    """What did not end well, how often, and what it said."""
    said: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.outcome != OK:
            said[sample.contender, sample.case, sample.outcome.partition(":")[0]].append(sample)
    rows = [
        [contender, case, str(len(found)), f"{max(one.seconds for one in found):.0f}", _quoted(found[0].outcome)]
        for (contender, case, _), found in sorted(said.items())
    ]
    return table(["who", "case", "times", "given up after, s", "what it said first"], rows) if rows else "Nothing."


def scale(measured: Sequence[Measured]) -> str:
    """A line for each size, and fits of seconds over volumes as a power of their number.

    Small sizes are mostly waiting that is the same for all: how it goes on is said by the two largest.
    """
    if not measured:
        return NOT_YET
    of_command = {command: growth.of_command(measured, command) for command in growth.COMMANDS}
    rows = []
    for size in dict.fromkeys((one.volumes, one.consumers) for one in measured):
        found = {
            command: next((one for one in of_command[command] if (one.volumes, one.consumers) == size), None)
            for command in of_command
        }
        times = [f"**{one.seconds:.1f}** ({one.cpu_s:.1f})" if one else NONE for one in found.values()]
        rows.append([f"{size[0]}, {size[1]}", *times, *_cost_of_up(found["up"])])
    rows.append(["fit of all", *(_exponent(mine) for mine in of_command.values()), *[NONE] * 4])
    most = sorted({one.volumes for one in measured})[-2:]
    if len(most) == 2:
        largest = [[one for one in mine if one.volumes in most] for mine in of_command.values()]
        rows.append([f"fit of {most[0]} and {most[1]}", *map(_exponent, largest), *[NONE] * 4])
    header = [
        "volumes, consumers",
        *(f"`{command}`, s (processor)" for command in growth.COMMANDS),
        "requests of `up`: Nomad, AWS",
        "for each volume",
        "state after `up`: resources, kB",
        "for each volume",
    ]
    return table(header, rows)


def _cost_of_up(up: Measured | None) -> list[str]:
    if up is None:
        return [NONE] * 4
    kilobytes = up.state_bytes / 1000
    state = [f"{up.resources}, {kilobytes:.0f}", f"{up.resources / up.volumes:.1f}, {kilobytes / up.volumes:.1f}"]
    return [
        f"{up.nomad_requests}, {up.aws_requests}",
        f"{up.nomad_requests / up.volumes:.1f}, {up.aws_requests / up.volumes:.1f}",
        *(state if up.resources else [NONE] * 2),
    ]


def memory(measured: Sequence[Measured]) -> str:
    """A line for each size: the most memory of each process in any of the commands."""
    if not measured:
        return NOT_YET
    rows = []
    for size in dict.fromkeys((one.volumes, one.consumers) for one in measured):
        mine = [one.mib for one in measured if (one.volumes, one.consumers) == size]
        most = [max(one[name] for one in mine) for name in mine[0]]
        rows.append([f"{size[0]}, {size[1]}", *(str(mib) if mib else NONE for mib in most)])
    return table(["volumes, consumers", *(f"{name}, MiB" for name in measured[0].mib)], rows)


def _exponent(mine: Sequence[Measured]) -> str:
    exponent = growth.fit(mine)[0] if mine else math.nan
    return NONE if math.isnan(exponent) else f"n^{exponent:.2f}"


def _ratio(upper: Sequence[Sample], lower: Sequence[Sample]) -> str:
    found = ratio(upper, lower)
    return NONE if found is None else f"{found:.2f}"


def _times(found: Sequence[Sample]) -> str:
    if not found:
        return NONE
    known = summary(found)
    if known.median is None or known.least is None or known.most is None:
        return f"failed {known.failed} of {known.failed}"
    text = f"**{known.median:.2f}** ({known.least:.2f} to {known.most:.2f})"
    return f"failed {known.failed} of {len(found)}, else {text}" if known.failed else text


def _quoted(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")[:200]
