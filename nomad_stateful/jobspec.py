"""The Nomad job files, and how values reach their variables."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("jobs")


def spec(name: str, variables: Mapping[str, Any]) -> str:
    """Returns the text of a job file, e.g. of ``failover.nomad.hcl`` for "failover", with its job's id and namespace.

    The provider plugin replaces a job whose text names another one; by a variable it would change the job it has. Files
    that it reads are in the text, since neither Nomad's API nor the plugin reads any: a variable names their folder.
    """
    text = (FOLDER / f"{name}.nomad.hcl").read_text(encoding="utf-8")
    text = _FILE.sub(lambda found: _content(_IN_NAME.sub(lambda of: variables[of[1]][of[2]], found[1])), text)
    known = {key: hcl_literal(variables["job"][key]) for key in ("id", "namespace")}
    written, count = _IDENTITY.subn(lambda found: f"{found[1]}{known[found[2]]}", text)
    if count != 3:
        raise ValueError(
            f"{name}.nomad.hcl must take id and name from var.job.id, and namespace from var.job.namespace"
        )
    return written


def hcl_value(value: Any) -> str:
    """Returns a value as Nomad takes it for a typed variable: JSON that HCL reads as the same value.

    HCL has template openings that JSON does not escape, and lacks some of JSON's escapes. Nomad takes a bare string
    literally, so it is not escaped. Nomad decodes variables as a URL's when it is asked for them: it gives a plus sign
    back as a space, and has an error for a percent sign, so neither is written.
    """
    if isinstance(value, str):
        return value
    return _hcl(json.dumps(value, sort_keys=True).replace("%", r"\u0025").replace("+", r"\u002b"))


def hcl_literal(value: Any) -> str:
    """Returns a value as it is written in a job file, where it evaluates to itself."""
    return _hcl(json.dumps(value, sort_keys=True))


def _hcl(text: str) -> str:
    return _FOREIGN.sub(_in_hcl, text)


# Attributes of the job block alone: those of inner blocks are indented deeper.
_IDENTITY = re.compile(r"^(  (?:id|name|namespace) += )var\.job\.(id|namespace)$", re.MULTILINE)


# As `nomad job run` reads them in the project's folder.
_FILE = re.compile(r'file\("jobs/([\w./${}-]+)"\)')
_IN_NAME = re.compile(r"\$\{var\.(\w+)\.(\w+)\}")


def _content(name: str) -> str:
    """Returns a file as a heredoc, which HCL reads as the same text."""
    text = (FOLDER / name).read_bytes().decode()
    if "$${" in text or "%%{" in text:
        raise ValueError(f"{name}: HCL has no form for $${{ and %%{{")
    if not text.endswith("\n") or "\r" in text or any(line.strip() == "FILE" for line in text.splitlines()):
        raise ValueError(f"{name}: it must end with a line break, and have no line FILE and no carriage return")
    literal = text.replace("${", "$${").replace("%{", "%%{")
    return f"<<FILE\n{literal}FILE"


# JSON's escapes (a surrogate pair for a character beyond 16 bits), and openings of HCL's templates.
_FOREIGN = re.compile(r"\\ud[89ab]..\\ud[c-f]..|\\.|[$]+(?={)|%+(?={)")
_UNKNOWN_TO_HCL = {r"\b": r"\u0008", r"\f": r"\u000c"}


def _in_hcl(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith("\\"):
        return str(json.loads(f'"{text}"')) if len(text) > 2 else _UNKNOWN_TO_HCL.get(text, text)
    # `$${` stands for `${`, but HCL has no such form for a longer run.
    return text * 2 if len(text) == 1 else f"{text[:-1]}\\u{ord(text[0]):04x}"
