"""The command `doctor`: what the checks found, as text and as JSON."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful import pages
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate.doctor.facts import Facts, NotChecked, Sources
from nomad_stateful.operate.doctor.finding import Check, Finding
from nomad_stateful.operate.doctor.table import concerning
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Command, reads_only
from nomad_stateful.terminal import Line, Span, Style, rendered, takes_colour
from nomad_stateful.visible import obeyed

_STYLES: dict[str, Style] = {"ok": "good", "problem": "bad", "warning": "warn", "not checked": "dim"}
_MARKS = {"ok": "ok     ", "problem": "PROBLEM", "warning": "warning", "not checked": "?      "}


@dataclass(frozen=True)
class Result:
    """What one check said."""

    check: Check
    findings: Sequence[Finding] = ()
    not_checked: str = ""
    """Why it could not be made; what it found before that stays."""

    @property
    def state(self) -> str:
        """The worst of it: ok, not checked, warning or problem."""
        levels = {finding.level for finding in self.findings}
        if levels:
            return "problem" if "problem" in levels else "warning"
        return "not checked" if self.not_checked else "ok"


def examine(checks: Sequence[Check], facts: Facts) -> list[Result]:
    """Makes every check, in the order of the table."""
    return [_made(check, facts) for check in checks]


def _made(check: Check, facts: Facts) -> Result:
    found: list[Finding] = []
    try:
        for finding in check.run(facts):
            found.append(finding)  # noqa: PERF402 - what was found before NotChecked counts
    except NotChecked as reason:
        return Result(check, found, str(reason))
    except (ProviderError, BotoCoreError, ClientError) as error:
        return Result(check, found, " ".join(str(error).split()))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return Result(check, found, f"an answer was not as this check expects it ({type(error).__name__}: {error})")
    return Result(check, found)


def text(results: Sequence[Result]) -> str:
    """Returns the results by group, with what to do below each that is not in order."""
    lines: list[str] = []
    told: set[str] = set()
    for group in dict.fromkeys(result.check.group for result in results):
        lines += ["", group] if lines else [group]
        for result in results:
            if result.check.group == group:
                lines += _lines(result, told)
    return "\n".join([*lines, "", summary(results)])


def coloured(said: str) -> list[Line]:
    """Returns the lines of such a text with their states in colour."""
    return [_coloured(line) for line in said.splitlines()]


def _coloured(line: str) -> Line:
    for level, mark in _MARKS.items():
        if line.startswith(f"  {mark} "):
            return [Span(f"  {mark}", _STYLES[level]), Span(line[len(mark) + 2 :])]
    return [Span(line, "dim" if line.startswith("    ") else "bold")]


def _lines(result: Result, told: set[str]) -> list[str]:
    """Returns the lines of one check; the reason that many cannot be made is told once."""
    if not result.findings and not result.not_checked:
        return [f"  {_MARKS['ok']} {result.check.name}"]
    spelled: list[str] = []
    for finding in result.findings:
        spelled += [f"  {_MARKS[finding.level]} {finding.what}", f"            why:  {finding.why}"]
        spelled += [f"            cure: {finding.cure}", f"            more: {finding.link}"]
    if result.not_checked:
        why = "as above" if result.not_checked in told else result.not_checked
        told.add(result.not_checked)
        spelled.append(f"  {_MARKS['not checked']} {result.check.name}: not checked: {why}")
    return spelled


def summary(results: Sequence[Result]) -> str:
    """Returns the numbers, on one line."""
    counts = {"problem": 0, "warning": 0}
    for result in results:
        for finding in result.findings:
            counts[finding.level] += 1
    fine = sum(result.state == "ok" for result in results)
    open_ = sum(bool(result.not_checked) for result in results)
    found = ", ".join(f"{count} {level}{'' if count == 1 else 's'}" for level, count in counts.items())
    return f"{found}; {fine} checks in order, {open_} not made"


def as_object(results: Sequence[Result]) -> dict[str, Any]:
    """Returns the results as an object for scripts."""
    checks = [
        {
            "group": result.check.group,
            "name": result.check.name,
            "state": result.state,
            "notChecked": result.not_checked,
            "findings": [asdict(finding) for finding in result.findings],
        }
        for result in results
    ]
    return {"ok": is_ok(results), "checks": checks}


def is_ok(results: Sequence[Result]) -> bool:
    """Returns whether nothing is wrong: warnings, and checks that could not be made, count as nothing."""
    return all(result.state != "problem" for result in results)


def doctor(*, as_json: bool) -> None:
    """Makes every check and prints what it found. Raises OperateError where something is wrong."""
    with closing(Facts(Sources.of_stack())) as facts:
        results = examine(concerning(facts), facts)
    if as_json:
        print(json.dumps(as_object(results), indent=2))
    else:
        said = pages.located(text(results))
        print(rendered(coloured(said), colour=takes_colour(sys.stdout)), file=obeyed(sys.stdout))
    if not is_ok(results):
        raise OperateError("something is wrong: see above" if not as_json else summary(results))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print an object for scripts")


COMMAND = Command(
    "doctor",
    "check account, cluster and stack, before an `up` and any time: what is wrong, why, and the fix",
    lambda known: doctor(as_json=known.json),
    _arguments,
    reads_only,
)
