"""Command line flags in Go's manner: one or two dashes, `=` or a space, booleans without a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final


class FlagError(ValueError):
    """A flag that cannot be read; its text is what pflag would print first."""


class HelpAsked(Exception):
    """--help or -h was given."""


@dataclass(frozen=True)
class Flag:
    """One flag: how its text becomes a value, and what the usage says of it."""

    name: str
    kind: str
    parse: Callable[[str], Any]
    default: Any
    usage: str

    @property
    def is_bool(self) -> bool:
        """Whether the flag stands alone (`--batching` is `--batching=true`)."""
        return self.kind == "bool"


_TRUE: Final = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE: Final = {"0", "f", "F", "FALSE", "false", "False"}


def _bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError('parsing "' + text + '": invalid syntax')


def _int(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError('parsing "' + text + '": invalid syntax') from None


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = item.partition("=")
        if not equals:
            raise ValueError(f"malformed pair, expect string=string: {item!r}")
        pairs[key.strip()] = value.strip()
    return pairs


def _strings(text: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in text.split(",") if part.strip())


def string(name: str, default: str, usage: str) -> Flag:
    """A flag that takes any text."""
    return Flag(name, "string", str, default, usage)


def boolean(name: str, usage: str, *, default: bool = False) -> Flag:
    """A flag that stands for true, or takes true or false after `=`."""
    return Flag(name, "bool", _bool, default, usage)


def integer(name: str, default: int, usage: str) -> Flag:
    """A flag that takes a whole number."""
    return Flag(name, "int", _int, default, usage)


def mapping(name: str, usage: str) -> Flag:
    """A flag that takes k=v,k=v; given twice, the later pairs are added."""
    return Flag(name, "mapStringString", _pairs, {}, usage)


def strings(name: str, default: tuple[str, ...], usage: str) -> Flag:
    """A flag that takes a comma separated list."""
    return Flag(name, "strings", _strings, default, usage)


def repeated(name: str, default: tuple[str, ...], usage: str) -> Flag:
    """A flag that may be given several times; its value is all that was given."""
    return Flag(name, "stringArray", lambda text: (text,), default, usage)


class FlagSet:
    """The flags one mode of the program knows."""

    def __init__(self, program: str, flags: Sequence[Flag]) -> None:
        self._program = program
        self._flags = {flag.name: flag for flag in flags}

    def parse(self, arguments: Sequence[str]) -> dict[str, Any]:
        """The value of every flag; raises FlagError, or HelpAsked."""
        values = {name: flag.default for name, flag in self._flags.items()}
        rest = list(arguments)
        while rest:
            token = rest.pop(0)
            if token == "--":
                break
            if token.startswith("-") and token != "-":
                flag, text = self._split(token, rest)
                values[flag.name] = self._value(flag, text, values[flag.name])
        return values

    def _split(self, token: str, rest: list[str]) -> tuple[Flag, str]:
        name, equals, text = token.lstrip("-").partition("=")
        if name in {"help", "h"} and name not in self._flags:
            raise HelpAsked
        flag = self._flags.get(name)
        if flag is None:
            raise FlagError(f"unknown flag: --{name}; this stand-in has those that the stack and its settings pass")
        if equals:
            return flag, text
        if flag.is_bool:
            return flag, "true"
        if not rest:
            raise FlagError(f"flag needs an argument: --{name}")
        return flag, rest.pop(0)

    def _value(self, flag: Flag, text: str, before: Any) -> Any:
        try:
            value = flag.parse(text)
        except ValueError as error:
            raise FlagError(f'invalid argument "{text}" for "--{flag.name}" flag: {error}') from None
        if flag.kind == "stringArray":
            return value if before is flag.default else (*before, *value)
        return {**before, **value} if isinstance(value, dict) else value

    def usage(self) -> str:
        """The list of flags, as pflag prints it."""
        lines = [f"Usage of {self._program}:"]
        for name in sorted(self._flags):
            flag = self._flags[name]
            head = f"      --{name}" + ("" if flag.is_bool else f" {flag.kind}")
            shown = "" if flag.default in ("", False, (), {}) else f" (default {_shown(flag.default)})"
            lines.append(f"{head:<45} {flag.usage}{shown}")
        return "\n".join(lines)


def _shown(default: Any) -> str:
    return f"[{','.join(default)}]" if isinstance(default, tuple) else str(default).lower()
