"""`zfs` of the file server: `python -m sandbox.standins.nas.zfs FOLDER COMMAND…`, as OpenZFS prints and ends."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from sandbox.standins.nas.layout import Nas
from sandbox.standins.nas.pool import Pool
from sandbox.standins.nas.properties import NATIVE, UsageError, ZfsError, full_name, human, kind_of
from sandbox.standins.nas.values import value_of

VERSION: Final = "zfs-2.2.7-sandbox"
_FIELDS: Final = ("name", "property", "value", "received", "source")
_TYPES: Final = {"fs": "filesystem", "snap": "snapshot", "vol": "volume"}


@dataclass
class Words:
    """A command line that was taken apart."""

    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    """Values of -d, -s, -S and -t, and of an -o that names columns."""
    properties: dict[str, str] = field(default_factory=dict)
    """What was said by `-o KEY=VALUE`."""
    plain: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    """A subcommand: its flags, those with a value, and how many words it takes."""

    do: Callable[[Nas, Words], str]
    flags: str = ""
    with_value: str = ""
    least: int = 1
    most: int | None = None


def _create(nas: Nas, words: Words) -> str:
    Pool(nas).create(words.plain[0], words.properties, parents="p" in words.flags)
    return ""


def _clone(nas: Nas, words: Words) -> str:
    Pool(nas).clone(words.plain[0], words.plain[1], words.properties, parents="p" in words.flags)
    return ""


def _snapshot(nas: Nas, words: Words) -> str:
    for name in words.plain:
        if "@" not in name:
            raise UsageError(f"cannot create snapshot '{name}': not a snapshot's name")
        Pool(nas).snapshot(name, words.properties)
    return ""


def _set(nas: Nas, words: Words) -> str:
    pairs = [word for word in words.plain if "=" in word]
    names = [word for word in words.plain if "=" not in word]
    if not pairs or not names:
        raise UsageError("missing property=value argument" if not pairs else "missing dataset name")
    for name in names:
        Pool(nas).set(name, dict(_pair(word) for word in pairs))
    return ""


def _inherit(nas: Nas, words: Words) -> str:
    for name in words.plain[1:]:
        Pool(nas).inherit(name, words.plain[0], recursive="r" in words.flags)
    return ""


def _destroy(nas: Nas, words: Words) -> str:
    if "n" not in words.flags:
        Pool(nas).destroy(
            words.plain[0],
            recursive="r" in words.flags,
            dependents="R" in words.flags,
            deferred="d" in words.flags,
        )
    return ""


def _rollback(nas: Nas, words: Words) -> str:
    Pool(nas).rollback(words.plain[0], recursive="r" in words.flags)
    return ""


def _list(nas: Nas, words: Words) -> str:
    columns = [full_name(word) for word in words.values.get("o", "name,used,avail,refer,mountpoint").split(",")]
    names = _chosen(nas, words, words.plain or [""], ("filesystem",))
    state, exact = Pool(nas).read(), "p" in words.flags
    rows = [[_shown(value_of(nas, state, name, column)[0], column, exact) for column in columns] for name in names]
    titles = [column.rpartition(":")[2].upper() for column in columns]
    return _table(rows, None if "H" in words.flags else titles)


def _get(nas: Nas, words: Words) -> str:
    fields = words.values.get("o", "name,property,value,source").replace("all", ",".join(_FIELDS)).split(",")
    for one in fields:
        if one not in _FIELDS:
            raise UsageError(f"invalid column name '{one}'")
    asked = [full_name(word) for word in words.plain[0].split(",") if word != "all"]
    sources = set(filter(None, words.values.get("s", "").split(",")))
    names = _chosen(nas, words, words.plain[1:], ("filesystem", "snapshot"))
    state, rows, exact = Pool(nas).read(), [], "p" in words.flags
    for name in names:
        own = {key for one in state for key in state[one]["properties"] if name.startswith(one) and ":" in key}
        known = [key for key, native in NATIVE.items() if kind_of(name) in native.of]
        for key in asked or [*known, *sorted(own)]:
            value, source = value_of(nas, state, name, key)
            if sources and source.partition(" ")[0].replace("-", "none") not in sources:
                continue
            row = dict(zip(_FIELDS, (name, key, _shown(value, key, exact), "-", source), strict=True))
            rows.append([row[one] for one in fields])
    return _table(rows, None if "H" in words.flags else [one.upper() for one in fields])


def _chosen(nas: Nas, words: Words, tops: Sequence[str], types: Sequence[str]) -> list[str]:
    kinds = {_TYPES.get(one, one) for one in words.values.get("t", ",".join(types)).split(",")}
    deep = int(words.values["d"]) if "d" in words.values else None if "r" in words.flags else 0
    found = []
    for top in tops:
        # A snapshot that is named is meant, whatever the types; without a name everything is.
        named = {kind_of(top)} if "@" in top and "t" not in words.values else set()
        depth = deep if top else None
        wanted = kinds | named
        found += [one for one in Pool(nas).names(top, depth) if "all" in kinds or kind_of(one) in wanted]
    return found


def _shown(value: str, key: str, exact: bool) -> str:
    if exact:
        return value
    if key == "creation" and value.isdecimal():
        return dt.datetime.fromtimestamp(int(value), dt.UTC).strftime("%a %b %e %H:%M %Y")
    return human(value, NATIVE.get(key))


def _table(rows: list[list[str]], titles: list[str] | None) -> str:
    if titles is None:
        return "".join("\t".join(row) + "\n" for row in rows)
    if not rows:
        return "no datasets available\n"
    lines = [titles, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    return "".join(
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in lines
    )


def _version(_nas: Nas, _words: Words) -> str:
    return f"{VERSION}\n"


def send(nas: Nas, name: str, stream: IO[bytes]) -> None:
    """Writes a snapshot as a stream; raises ZfsError."""
    Pool(nas).names(name)
    stream.write(json.dumps({"snapshot": name.partition("@")[2]}).encode() + b"\n")
    stream.flush()
    subprocess.run(["tar", "-C", str(nas.snapshots / name), "-cf", "-", "."], stdout=stream, check=True)


def receive(nas: Nas, name: str, stream: IO[bytes]) -> None:
    """Makes a file system of a stream; raises ZfsError."""
    header = stream.readline()
    if not header.startswith(b"{"):
        raise ZfsError("cannot receive: failed to read from stream")
    content = Path(tempfile.mkdtemp(dir=nas.snapshots.parent, prefix=".receiving-"))
    try:
        subprocess.run(["tar", "-C", str(content), "-xpf", "-"], input=stream.read(), check=True)
        Pool(nas).receive(name, json.loads(header)["snapshot"], content)
    finally:
        shutil.rmtree(content, ignore_errors=True)


def _send(nas: Nas, words: Words) -> str:
    send(nas, words.plain[0], sys.stdout.buffer)
    return ""


def _receive(nas: Nas, words: Words) -> str:
    receive(nas, words.plain[0], sys.stdin.buffer)
    return ""


COMMANDS: Final[Mapping[str, Command]] = {
    "create": Command(_create, "pu", "o", most=1),
    "clone": Command(_clone, "pu", "o", least=2, most=2),
    "snapshot": Command(_snapshot, "r", "o"),
    "snap": Command(_snapshot, "r", "o"),
    "set": Command(_set, "u", least=2),
    "inherit": Command(_inherit, "rS", least=2),
    "destroy": Command(_destroy, "dfnpRrv", most=1),
    "rollback": Command(_rollback, "Rfr", most=1),
    "list": Command(_list, "Hpr", "dosSt", least=0),
    "get": Command(_get, "Hpr", "dost", least=2),
    "send": Command(_send, "DLPRbcehnpv", most=1),
    "receive": Command(_receive, "Fdehnsuv", "o", most=1),
    "recv": Command(_receive, "Fdehnsuv", "o", most=1),
    "version": Command(_version, least=0),
}


def run(nas: Nas, words: Sequence[str]) -> str:
    """Does what a command line says and gives what it prints; raises ZfsError, UsageError."""
    name, *rest = words or [""]
    if name not in COMMANDS:
        raise UsageError(f"unrecognized command '{name}'" if name else "missing command")
    command = COMMANDS[name]
    found = _split(command, rest)
    if len(found.plain) < command.least:
        raise UsageError("missing dataset argument")
    if command.most is not None and len(found.plain) > command.most:
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
                raise UsageError(f"invalid option '{letter}'")
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
