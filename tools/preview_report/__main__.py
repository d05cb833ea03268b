"""`python -m tools.preview_report`: the report on a preview. Exit status: 0 green, 1 red, 2 no report could be made."""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nomad_stateful.nomad.job_rendering import render
from tools.preview_report.cost import PRICES, load_prices
from tools.preview_report.document import NoReportError, Preview, parse
from tools.preview_report.jobs import RenderedJob, from_json, render_jobs, to_json
from tools.preview_report.policies import parse_events
from tools.preview_report.pulumi_preview import Recorded, run_preview
from tools.preview_report.report import make_report


def main(argv: Sequence[str] | None = None) -> int:
    """Prints or writes the report; the exit status is the verdict."""
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except (NoReportError, OSError) as error:
        print(f"error: no report: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.preview_report", description="What a reviewer reads about a change."
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--preview", metavar="FILE", help="what `pulumi preview --json --diff` printed; - is stdin")
    source.add_argument("--stack", help="preview this stack now")
    parser.add_argument("--project", type=Path, default=Path(), help="folder of the program to preview (default: here)")
    parser.add_argument("--policy-pack", type=Path, action="append", default=[], help="a policy pack to preview with")
    parser.add_argument("--events", type=Path, metavar="FILE", help="event log of that preview, for policies' findings")
    parser.add_argument("--labels", default="", metavar="A,B", help="labels of the pull request")
    parser.add_argument("--nomad", type=Path, help="the nomad command that renders jobs (default: the one on PATH)")
    parser.add_argument("--jobs", type=Path, metavar="FILE", help="rendered jobs kept by --keep-jobs, instead of nomad")
    parser.add_argument("--keep-jobs", type=Path, metavar="FILE", help="write the rendered jobs here")
    parser.add_argument("--prices", type=Path, default=PRICES, metavar="FILE", help="another price table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report here instead of printing it")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    recorded = _recorded(arguments)
    preview = parse(recorded.document)
    jobs = _jobs(arguments, preview)
    if arguments.keep_jobs:
        arguments.keep_jobs.write_text(json.dumps(to_json(jobs), sort_keys=True) + "\n", encoding="utf-8")
    labels = {label.strip() for label in arguments.labels.split(",") if label.strip()}
    report = make_report(preview, jobs, labels, parse_events(recorded.events), load_prices(arguments.prices))
    if arguments.output:
        arguments.output.write_text(report.text, encoding="utf-8")
    else:
        print(report.text, end="")
    return 0 if report.verdict.is_green else 1


def _recorded(arguments: argparse.Namespace) -> Recorded:
    if arguments.stack:
        return run_preview(arguments.stack, arguments.project, arguments.policy_pack)
    text = sys.stdin.read() if arguments.preview == "-" else Path(arguments.preview).read_text(encoding="utf-8")
    return Recorded(text, arguments.events.read_text(encoding="utf-8") if arguments.events else "")


def _jobs(arguments: argparse.Namespace, preview: Preview) -> list[RenderedJob]:
    if arguments.jobs:
        return from_json(json.loads(arguments.jobs.read_text(encoding="utf-8")))
    found = arguments.nomad or shutil.which("nomad")
    if found is None:
        print("note: nomad is not on PATH: jobs are left out", file=sys.stderr)
        return []
    return render_jobs(preview, partial(render, found))


if __name__ == "__main__":
    sys.exit(main())
