"""A command's own words, and what it prints for scripts."""

import io
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from nomad_stateful.operate.frame import Command


def parser_of(command: Command) -> ArgumentParser:
    """A parser of a command's own words; what it refuses is raised."""
    parser = ArgumentParser(exit_on_error=False)
    command.arguments(parser)
    return parser


def parsed(command: Command, *words: str) -> Namespace:
    return parser_of(command).parse_args(words)


def result_of(run: Callable[..., Any], *words: Any, **given: Any) -> dict[str, Any]:
    """The object that this prints."""
    with redirect_stdout(io.StringIO()) as printed:
        run(*words, **given)
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found
