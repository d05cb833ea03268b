"""The command `doctor`."""

import json
import sys
from argparse import ArgumentParser

from nomad_stateful import pages
from nomad_stateful.operate.command import Command, reads_only
from nomad_stateful.operate.doctor import report
from nomad_stateful.operate.doctor.facts import Facts, Sources
from nomad_stateful.operate.doctor.table import concerning
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.terminal import rendered, takes_colour
from nomad_stateful.visible import obeyed


def doctor(*, as_json: bool) -> None:
    """Makes every check and prints what it found. Raises OperateError where something is wrong."""
    facts = Facts(Sources.of_stack())
    try:
        results = report.examine(concerning(facts), facts)
    finally:
        facts.close()
    if as_json:
        print(json.dumps(report.as_json(results), indent=2))
    else:
        said = pages.located(report.text(results))
        print(rendered(report.coloured(said), colour=takes_colour(sys.stdout)), file=obeyed(sys.stdout))
    if not report.is_ok(results):
        raise OperateError("something is wrong: see above" if not as_json else report.summary(results))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print an object for scripts")


COMMAND = Command(
    "doctor",
    "check account, cluster and stack, before an `up` and any time: what is wrong, why, and the fix",
    lambda known: doctor(as_json=known.json),
    _arguments,
    reads_only,
)
