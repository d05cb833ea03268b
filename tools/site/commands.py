"""The reference of the command line, made of the commands themselves."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, HelpFormatter, _SubParsersAction
from functools import partial
from typing import Any, Final

from nomad_stateful.operate.__main__ import command_line
from sandbox.__main__ import DESCRIPTION, add_commands
from tools import markdown

_WIDTH: Final = 88


def render() -> str:
    """Returns the page."""
    sandbox = ArgumentParser(prog="nomad-stateful sandbox", description=DESCRIPTION)
    add_commands(sandbox)
    text = "# Commands\n\nWhat each command is for, and how it fits the others: [operate.md](operate.md).\n"
    for name, parser, about in _subcommands(command_line()):
        text += _section(2, f"nomad-stateful {name}", parser, about) if name != "sandbox" else ""
    text += "\n## nomad-stateful sandbox\n\nOf the package nomad-stateful-sandbox; in a clone `python -m sandbox`.\n"
    for name, parser, about in _subcommands(sandbox):
        text += _section(3, f"nomad-stateful sandbox {name}", parser, about)
    return text


def _subcommands(parser: ArgumentParser) -> list[tuple[str, ArgumentParser, str]]:
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, _SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            return [(name, sub, texts.get(name, "")) for name, sub in action.choices.items()]
    return []


def _section(level: int, title: str, parser: ArgumentParser, about: str) -> str:
    formatter: Any = partial(HelpFormatter, width=_WIDTH)
    parser.formatter_class = formatter
    usage = parser.format_usage().removeprefix("usage: ").rstrip().splitlines()
    parts = [
        f"\n{'#' * level} {title}\n",
        f"{markdown.prose(about[:1].upper() + about[1:])}.\n",
        *markdown.block("text", usage),
    ]
    listed = [action for action in parser._actions if action.dest != "help" and action.help != SUPPRESS]  # noqa: SLF001
    if listed:
        parts += ["", *(f"- {markdown.code(_name(action))}: {_help(parser, action)}" for action in listed)]
    return "\n".join(parts) + "\n"


def _name(action: Action) -> str:
    metavar = action.metavar or action.dest
    value = metavar if isinstance(metavar, str) else " ".join(metavar)
    if action.choices:
        value = ", ".join(map(str, action.choices))
    if not action.option_strings:
        return value
    shown = value if action.choices else value.upper()
    return ", ".join(action.option_strings) + (f" {shown}" if action.nargs != 0 else "")


def _help(parser: ArgumentParser, action: Action) -> str:
    return markdown.prose((action.help or "") % {**vars(action), "prog": parser.prog}) or "…"
