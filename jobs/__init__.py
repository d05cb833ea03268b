"""The Nomad job files, and how values reach their variables."""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def spec(name: str) -> str:
    """The text of a job file, e.g. ``spec("mysql")`` for ``mysql.nomad.hcl``."""
    return (FOLDER / f"{name}.nomad.hcl").read_text(encoding="utf-8")


def hcl_value(value: Any) -> str:
    """A value as Nomad takes it for a typed variable: JSON that HCL reads as the same value.

    HCL would find templates of its own in it, and does not know all of JSON's escapes. A bare string is taken literally
    by Nomad, so it is not escaped.
    """
    return value if isinstance(value, str) else _FOREIGN.sub(_in_hcl, json.dumps(value, sort_keys=True))


# Escapes of JSON, a pair of them for a character beyond 16 bits, and openings of HCL's templates.
_FOREIGN = re.compile(r"\\ud[89ab]..\\ud[c-f]..|\\.|[$]+(?={)|%+(?={)")
_UNKNOWN_TO_HCL = {r"\b": r"\u0008", r"\f": r"\u000c"}


def _in_hcl(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith("\\"):
        return str(json.loads(f'"{text}"')) if len(text) > 2 else _UNKNOWN_TO_HCL.get(text, text)
    # `$${` stands for `${`, but HCL has no such form for a longer run.
    return text * 2 if len(text) == 1 else f"{text[:-1]}\\u{ord(text[0]):04x}"
