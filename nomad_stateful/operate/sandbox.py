"""`nomad-stateful sandbox`: the commands of another package, where it is installed."""

from argparse import REMAINDER, ArgumentParser, Namespace
from importlib.metadata import entry_points
from typing import Protocol, cast

from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Command
from nomad_stateful.version import VERSION

GROUP = "nomad_stateful.sandbox"


class Sandbox(Protocol):
    """What the entry point of the group names."""

    def add_commands(self, parser: ArgumentParser) -> None:
        """Adds the commands and their options."""

    def run(self, arguments: Namespace) -> int:
        """Runs one and returns its exit status."""


def _installed() -> Sandbox | None:
    for entry in entry_points(group=GROUP):
        return cast("Sandbox", entry.load())
    return None


def _run(arguments: Namespace) -> None:
    sandbox = _installed()
    if sandbox is None:
        raise OperateError(
            "the sandbox is a package of its own, which is not installed here, and no release is on PyPI: pip install "
            f"nomad_stateful_sandbox-{VERSION}-py3-none-any.whl, the file of the release (in a clone: `make up`)"
        )
    raise SystemExit(sandbox.run(arguments))


def _arguments(parser: ArgumentParser) -> None:
    sandbox = _installed()
    if sandbox is None:
        parser.add_argument("words", nargs=REMAINDER, help="up, down, status …: of the package nomad-stateful-sandbox")
    else:
        sandbox.add_commands(parser)


COMMAND = Command(
    "sandbox",
    "run AWS and Nomad on this machine, to try the stack in",
    _run,
    _arguments,
    has_stack=False,
)
