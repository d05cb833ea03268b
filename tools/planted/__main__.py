"""`python -m tools.planted`: plants known defects in a copy of the project, one at a time, and says who finds each."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from sandbox.machine import requirements
from tools import json_lines, markdown
from tools.planted.defect import Defect, StaleError, every_defect
from tools.planted.suites import FOLDERS, Result, SuiteError, find
from tools.trial.running import PROJECT, copy_project

RESULTS = PROJECT / "build/planted/results.jsonl"
_ON_ENGINE = ("stack", "faults")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what the arguments say; 1 where nobody finds a defect, or whether somebody does could not be seen."""
    defects = every_defect()
    parser = _parser()
    arguments = parser.parse_args(argv)
    if unknown := sorted(set(arguments.names) - set(defects)):
        parser.error(f"there is no defect {', '.join(unknown)}: --list has all")
    chosen = [defects[name] for name in arguments.names or defects]
    if arguments.list:
        print("\n".join(f"{one.name}: {one.breaks}" for one in chosen))
        return 0
    if arguments.table:
        print(table(_newest(defects)))
        return 0
    suites = [one for one in FOLDERS if one in (arguments.suites or FOLDERS)]
    if lacking := requirements.lacking():
        for one in sorted(set(suites) & set(_ON_ENGINE)):
            print(f"left out: {one}: this machine cannot run a sandbox: {lacking}", flush=True)
            suites.remove(one)
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        return _run(chosen, _copy(Path(folder)), suites, whole=arguments.whole)


def _run(chosen: Sequence[Defect], folder: Path, suites: Sequence[str], *, whole: bool) -> int:
    results, errors = list[Result](), 0
    for number, defect in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {defect.name}: {defect.breaks}", flush=True)
        try:
            result = find(defect, folder, suites, whole=whole)
        except (StaleError, SuiteError) as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
            errors += 1
            continue
        where = f"found by {result.suite}: {result.test}" if result.suite else "found by nobody"
        print(f"    {where} ({result.seconds:.0f} s)", flush=True)
        results.append(result)
        json_lines.append(RESULTS, {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", **asdict(result)})
    print(f"\n{table(results)}")
    return 1 if errors or not all(one.suite for one in results) else 0


def table(results: Sequence[Result]) -> str:
    """A line for each defect, as Markdown."""
    rows = [
        [
            f"`{one.defect}`",
            one.breaks,
            one.suite or "nobody",
            f"`{one.test}`" if one.test else "",
            f"{one.seconds:.0f}",
        ]
        for one in results
    ]
    return markdown.table(["defect", "what it breaks", "found by", "first test", "s"], rows)


def _copy(folder: Path) -> Path:
    """Returns a copy of the project, which is a repository as the project is."""
    copy_project(folder)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    return folder


def _newest(defects: dict[str, Defect]) -> list[Result]:
    """Returns the newest result of each defect that has one."""
    newest = {one.pop("defect"): one for one in json_lines.read(RESULTS) if one.pop("at")}
    return [Result(defect=name, **newest[name]) for name in defects if name in newest]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.planted", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="DEFECT", help="default: all")
    parser.add_argument("--list", action="store_true", help="print the defects and do nothing")
    parser.add_argument(
        "--table", action="store_true", help="print the newest result of each as Markdown, and do nothing"
    )
    parser.add_argument("--suites", nargs="+", choices=list(FOLDERS), help="run these alone (default: all)")
    parser.add_argument(
        "--whole", action="store_true", help="add all tests of the suites where the named ones find nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
