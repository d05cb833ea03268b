"""Whether packages have licences that may be used."""

import re
from importlib import metadata
from typing import Final

from packaging.utils import canonicalize_name

ALLOWED: Final = frozenset(
    {
        *("MIT", "MIT-0", "MIT-CMU", "ISC", "0BSD", "BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "PSF-2.0"),
        *("MPL-2.0", "CNRI-Python", "Python-2.0", "Unlicense", "CC0-1.0", "BlueOak-1.0.0", "Zlib"),
    }
)
_JUDGE: Final = "AGPL-3.0: a tool of the tests, in a process of its own; nothing of it is given away"
EXCEPTIONS: Final = {
    "@cloud-copilot/iam-simulate": _JUDGE,
    "@cloud-copilot/iam-policy": _JUDGE,
    "@cloud-copilot/iam-utils": _JUDGE,
    "asyncssh": "EPL-2.0 or GPL-2.0-or-later: a library of the sandbox alone, unchanged; nothing of it is given away",
    "@logdna/tail-file": "MIT, in its file LICENSE; a part of Pulumi's SDK",
    "spdx-exceptions": "CC-BY-3.0: a list, no program; a part of Pulumi's SDK",
}
"""Packages with another licence, and why they may be used."""
_OTHER_NAMES: Final = {
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def python() -> dict[str, str]:
    """The licence of each installed package, by name."""
    return {
        canonicalize_name(package.metadata["Name"]): _licence(package.metadata) for package in metadata.distributions()
    }


def unlisted(licences: dict[str, str]) -> list[str]:
    """Packages whose licence is not on the list."""
    return [
        f"{name} has the licence {licence or 'unknown'}, which is not on the list (tools/audit/licences.py)"
        for name, licence in sorted(licences.items())
        if not _is_allowed(licence) and name not in EXCEPTIONS
    ]


def _licence(found: metadata.PackageMetadata) -> str:
    if "License-Expression" in found:
        return found["License-Expression"]
    classified = [
        entry.rpartition(" :: ")[2] for entry in found.get_all("Classifier") or [] if entry.startswith("License :: OSI")
    ]
    names = classified or [found["License"].split("\n")[0] if "License" in found else ""]
    return " OR ".join(_OTHER_NAMES.get(name, name) for name in names)


def _is_allowed(expression: str) -> bool:
    """Whether one of its alternatives asks for nothing but licences on the list."""
    alternatives = re.split(r"\s+OR\s+", expression.strip().removeprefix("(").removesuffix(")"))
    return any(all(part in ALLOWED for part in re.split(r"\s+AND\s+", parts)) for parts in alternatives)
