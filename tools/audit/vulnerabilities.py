"""Known vulnerabilities of what is pinned, as pip-audit finds them in OSV, and npm in its registry."""

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

SERVICE: Final = "https://api.osv.dev/v1/query"
IGNORED: Final = Path(__file__).with_name("ignored.toml")
_TIMEOUT_S: Final = 300


class NotLookedUp(Exception):
    """The service cannot be asked; the message says why."""


@dataclass(frozen=True)
class Known:
    """A known vulnerability of a pinned package, by each name that it has."""

    package: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.package} has the known vulnerability {', '.join(self.names)}"


def python(files: Sequence[Path], service: str = SERVICE) -> list[Known]:
    """Those of requirements files, of which each line has to be pinned with hashes. Raises NotLookedUp."""
    words = ["--disable-pip", "--require-hashes", "--vulnerability-service", "osv", "--osv-url", service]
    shown = ["--format", "json", "--progress-spinner", "off"]
    read = [word for file in files for word in ("--requirement", str(file))]
    answer = _json([sys.executable, "-m", "pip_audit", *words, *shown, *read], files[0].parent)
    if skipped := [f"{one['name']}: {one['skip_reason']}" for one in answer["dependencies"] if "skip_reason" in one]:
        raise NotLookedUp("; ".join(skipped))
    return [
        Known(f"{package['name']} {package['version']}", (found["id"], *found["aliases"]))
        for package in answer["dependencies"]
        for found in package["vulns"]
    ]


def npm(lock: Path) -> list[Known]:
    """Those of a package-lock.json. Raises NotLookedUp."""
    if shutil.which("npm") is None:
        raise NotLookedUp("npm is not on PATH")
    answer = _json(["npm", "audit", "--package-lock-only", "--json"], lock.parent)
    if "vulnerabilities" not in answer:
        raise NotLookedUp(str(answer.get("message") or answer))
    advisories = {
        (name, advisory["url"].rpartition("/")[2])
        for name, found in answer["vulnerabilities"].items()
        # Text names another package of this list, which has the advisory.
        for advisory in found["via"]
        if not isinstance(advisory, str)
    }
    return [Known(f"{lock}: {name}", (identity,)) for name, identity in sorted(advisories)]


def _json(command: Sequence[str], folder: Path) -> dict[str, Any]:
    """What a command answers; it fails both when something is known and when it could not ask."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired as error:
        raise NotLookedUp(f"no answer after {_TIMEOUT_S} s") from error
    except ValueError as error:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise NotLookedUp(said[-1]) from error


def accepted(today: date, path: Path = IGNORED) -> tuple[dict[str, str], list[str]]:
    """Identities that are accepted for now with their reasons, and complaints about entries that are not in order."""
    reasons, complaints = {}, []
    for identity, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
        until, reason = entry.get("until"), entry.get("reason")
        if not isinstance(until, date) or not reason:
            complaints.append(f"{path.name}: {identity} needs a reason, and a date in `until`")
        elif until < today:
            complaints.append(f"{path.name}: {identity} was accepted until {until}: update the package, or decide anew")
        else:
            reasons[identity] = str(reason)
    return reasons, complaints
