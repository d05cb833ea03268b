"""`zfs` of the file server: `python -m sandbox.standins.nas.zfs FOLDER COMMAND…`, as OpenZFS prints and ends.

It has the commands and options that democratic-csi sends, and refuses the others by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sandbox.standins.nas.layout import Nas
from sandbox.standins.nas.pool import Pool
from sandbox.standins.nas.properties import UsageError, ZfsError, full_name, kind_of
from sandbox.standins.nas.values import value_of

_FIELDS: Final = ("name", "property", "value", "received", "source")


@dataclass
class Words:
    """A command line that was taken apart."""

    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    """Values of -t, and of an -o that names columns."""
    properties: dict[str, str] = field(default_factory=dict)
    """What was said by `-o KEY=VALUE`."""
    plain: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    """A subcommand: its flags, those with a value, those it needs, and how many words it takes, or takes at least."""

    do: Callable[[Nas, Words], str]
    flags: str = ""
    with_value: str = ""
    needs: str = ""
    words: int = 1
    more: bool = False


def _create(nas: Nas, words: Words) -> str:
    Pool(nas).create(words.plain[0], words.properties, parents="p" in words.flags)
    return ""


def _clone(nas: Nas, words: Words) -> str:
    Pool(nas).clone(words.plain[0], words.plain[1], words.properties)
    return ""


def _snapshot(nas: Nas, words: Words) -> str:
    if "@" not in words.plain[0]:
        raise UsageError(f"cannot create snapshot '{words.plain[0]}': not a snapshot's name")
    Pool(nas).snapshot(words.plain[0], words.properties)
    return ""


def _set(nas: Nas, words: Words) -> str:
    *pairs, name = words.plain
    Pool(nas).set(name, dict(map(_pair, pairs)))
    return ""


def _inherit(nas: Nas, words: Words) -> str:
    Pool(nas).inherit(words.plain[1], words.plain[0])
    return ""


def _destroy(nas: Nas, words: Words) -> str:
    Pool(nas).destroy(words.plain[0], recursive="r" in words.flags, deferred="d" in words.flags)
    return ""


def _list(nas: Nas, words: Words) -> str:
    columns = [full_name(word) for word in words.values["o"].split(",")]
    kind, pool = words.values.get("t", "filesystem"), Pool(nas)
    names = [one for one in pool.names(words.plain[0], below="r" in words.flags) if kind_of(one) == kind]
    state = pool.read()
    return _lines([[value_of(nas, state, name, column)[0] for column in columns] for name in names])


def _get(nas: Nas, words: Words) -> str:
    fields = words.values["o"].split(",")
    for one in fields:
        if one not in _FIELDS:
            raise UsageError(f"invalid column name '{one}'")
    keys, (name,), state = words.plain[0].split(","), Pool(nas).names(words.plain[1], below=False), Pool(nas).read()
    rows = []
    for key in map(full_name, keys):
        value, source = value_of(nas, state, name, key)
        row = dict(zip(_FIELDS, (name, key, value, "-", source), strict=True))
        rows.append([row[one] for one in fields])
    return _lines(rows)


def _lines(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


COMMANDS: Final[Mapping[str, Command]] = {
    "create": Command(_create, "p", "o"),
    "clone": Command(_clone, "", "o", words=2),
    "snapshot": Command(_snapshot, "", "o"),
    "set": Command(_set, words=2, more=True),
    "inherit": Command(_inherit, words=2),
    "destroy": Command(_destroy, "dfpr"),
    "list": Command(_list, "Hpr", "ot", needs="Hpo"),
    "get": Command(_get, "Hp", "o", needs="Hpo", words=2),
}


def run(nas: Nas, words: Sequence[str]) -> str:
    """Does what a command line says and gives what it prints; raises ZfsError, UsageError."""
    name, *rest = words or [""]
    if name not in COMMANDS:
        raise UsageError(f"this stand-in does not have the command '{name}'" if name else "missing command")
    command = COMMANDS[name]
    found = _split(command, rest)
    if missing := [letter for letter in command.needs if letter not in found.flags | found.values.keys()]:
        raise UsageError(f"this stand-in does not have `zfs {name}` without '-{missing[0]}'")
    if len(found.plain) < command.words:
        raise UsageError("missing dataset argument")
    if len(found.plain) > command.words and not command.more:
        raise UsageError("too many arguments")
    return command.do(nas, found)


def _split(command: Command, words: Sequence[str]) -> Words:
    found, rest = Words(), list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            found.plain.append(word)
            continue
        for place, letter in enumerate(word[1:], 1):
            if letter in command.with_value:
                value = word[place + 1 :] or (rest.pop(0) if rest else "")
                if letter == "o" and "=" in value:
                    found.properties.update([_pair(value)])
                else:
                    found.values[letter] = value
                break
            if letter not in command.flags:
                raise UsageError(f"this stand-in does not have the option '-{letter}' here")
            found.flags.add(letter)
    return found


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise UsageError(f"missing '=' for property=value argument: {word}")
    return key, value


def main(arguments: list[str]) -> int:
    """Does it; the exit status."""
    try:
        sys.stdout.write(run(Nas(Path(arguments[0])), arguments[1:]))
    except ZfsError as error:
        print(error, file=sys.stderr)
        return 1
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
