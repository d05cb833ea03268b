"""The question before something is changed."""

import sys

from nomad_stateful.operate.errors import OperateError


class NotConfirmedError(OperateError):
    """Nobody said yes; nothing was changed."""


def confirm(question: str, *, yes: bool) -> None:
    """Asks on the terminal, unless `yes` says it already. Raises NotConfirmedError."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotConfirmedError(f"{question} There is no terminal to answer on: add --yes. Nothing was changed")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotConfirmedError("nothing was changed")
