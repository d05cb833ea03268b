"""Command line: `python -m tools.examples [NAME ...]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from nomad_stateful.nomad.api import NomadApi
from sandbox.cloud.service import is_alive
from sandbox.settings import PROJECT, SandboxError, SandboxSettings, load_settings
from sandbox.stack import stack_file
from sandbox.stack.plugin_home import kinds
from tools import toolchain
from tools.examples.recipes import EXAMPLES, Example, resources_left
from tools.examples.stacks import FOLDER, Workplace


def main() -> int:
    """Runs the named examples, or all of them; 1 when one fails or leaves something."""
    names = [example.name for example in EXAMPLES]
    parser = argparse.ArgumentParser(prog="python -m tools.examples", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}; all if left out")
    parser.add_argument("--official", type=Path, metavar="DIR", help="folder of official release archives to use")
    arguments = parser.parse_args()
    wanted = arguments.names or names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        parser.error(f"there is no example {unknown[0]}: use one of {', '.join(names)}")
    settings = load_settings()
    was_up = settings.home.is_dir() and is_alive(settings)
    # Those that a sandbox has only where a stack names them.
    images = [
        word
        for name in wanted
        for image in stack_file.images(FOLDER / f"Pulumi.{name}.yaml")
        for word in ("--image", image)
    ]
    _sandbox(
        "up", "--no-stack", *images, *(["--official", str(arguments.official.absolute())] if arguments.official else [])
    )
    print(f"plugins: {kinds(settings)}", flush=True)
    status = 1
    try:
        status = _run_all([example for example in EXAMPLES if example.name in wanted], settings)
    finally:
        if not was_up:
            # What a failed one left keeps `down` from going on.
            _sandbox("down", *([] if status == 0 else ["--force"]))
    return status


def _run_all(examples: list[Example], settings: SandboxSettings) -> int:
    tools = toolchain.ensure()
    place = Workplace(settings, tools)
    place.prepare()
    lines, failed = [], 0
    for example in examples:
        started = time.monotonic()
        print(f"\n==> {example.name}: {example.shows}", flush=True)
        try:
            results = _run(place, example)
        except Exception as error:  # noqa: BLE001 - the others are still run
            failed += 1
            results = [f"FAILED: {error}"]
        lines += [f"{example.name:<15} {time.monotonic() - started:4.0f} s  {result}" for result in results]
    print("\n" + "\n".join(lines))
    return 1 if failed else 0


def _run(place: Workplace, example: Example) -> list[str]:
    example.prepare(place, example.name)
    stack = place.stack(example.name)
    env = place.environment()
    nomad = NomadApi.from_env(environ=env)
    try:
        stack.up(refresh=False)
        place.run("pulumi", "preview", "--expect-no-changes", "--non-interactive", "--stack", example.name)
        results = example.check(place, stack, nomad)
    finally:
        nomad.close()
        stack.destroy()
    left = resources_left(place)
    if left:
        raise SandboxError(f"left behind: {', '.join(left)}")
    return results


def _sandbox(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "sandbox", *words], cwd=PROJECT, check=True)


if __name__ == "__main__":
    sys.exit(main())
