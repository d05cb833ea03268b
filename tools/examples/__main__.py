"""Command line: `python -m tools.examples [NAME ...]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from nomad_stateful.nomad.api import NomadApi
from sandbox.cloud.service import is_alive
from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, PROJECT, SandboxError, SandboxSettings, load_settings
from sandbox.stack import stack_file
from sandbox.stack.plugin_home import kinds
from tools import toolchain
from tools.examples.recipes import EXAMPLES, Example, resources_left
from tools.examples.stacks import FOLDER, Workplace
from tools.trial.ground import claim


def main() -> int:
    """Runs the named examples, or all of them; 1 when one fails or leaves something."""
    names = [example.name for example in EXAMPLES]
    parser = argparse.ArgumentParser(prog="python -m tools.examples", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}; all if left out")
    parser.add_argument("--official", type=Path, metavar="DIR", help="folder of official release archives to use")
    parser.add_argument("--servers", type=int, metavar="N", help="without those that need more Nomad servers")
    arguments = parser.parse_args()
    few = [one.name for one in EXAMPLES if arguments.servers is None or one.servers <= arguments.servers]
    wanted = arguments.names or few
    unknown = [name for name in wanted if name not in names]
    if unknown:
        parser.error(f"there is no example {unknown[0]}: use one of {', '.join(names)}")
    settings = load_settings()
    apart = [example.name for example in EXAMPLES if example.name in wanted and settings.servers < example.servers]
    status = _with_more_servers(apart, arguments.official) if apart else 0
    wanted = [name for name in wanted if name not in apart]
    if not wanted:
        return status
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
    failed = 1
    try:
        failed = _run_all([example for example in EXAMPLES if example.name in wanted], settings)
    finally:
        if not was_up:
            # What a failed one left keeps `down` from going on.
            _sandbox("down", *([] if failed == 0 else ["--force"]))
    return status or failed


def _with_more_servers(names: list[str], official: Path | None) -> int:
    """Runs examples in a sandbox of their own, with a Nomad server in each of its zones."""
    servers = max(example.servers for example in EXAMPLES if example.name in names)
    with tempfile.TemporaryDirectory(prefix="nomad-stateful-examples-") as folder:
        config = Path(folder) / "sandbox.toml"
        # The second client of a zone is where what is drained goes.
        ground = replace(claim(), servers=servers, clients=servers + 1)
        config.write_text(ground.config, encoding="utf-8")
        env = {**os.environ, CONFIG_VARIABLE: str(config), HOME_VARIABLE: str(Path(folder) / "sandbox")}
        words = ["--official", str(official.absolute())] if official else []
        return subprocess.run([sys.executable, "-m", "tools.examples", *names, *words], env=env, check=False).returncode


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
        place.run("pulumi", "preview", "--refresh", "--expect-no-changes", "--non-interactive", "--stack", example.name)
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
