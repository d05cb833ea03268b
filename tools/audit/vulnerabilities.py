"""Known vulnerabilities of what is pinned, from OSV (https://osv.dev), all packages in one question."""

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import httpx2

from tools.audit.pins import Pin

SERVICE: Final = "https://api.osv.dev"
IGNORED: Final = Path(__file__).with_name("ignored.toml")
_MOST_QUERIES: Final = 1000
_TIMEOUT_S: Final = 10.0


class NotLookedUp(Exception):
    """The service cannot be asked; the message says why."""


@dataclass(frozen=True)
class Found:
    """A known vulnerability of a pinned package."""

    pin: Pin
    identity: str

    def __str__(self) -> str:
        return f"{self.pin.file}: {self.pin.name} {self.pin.version} has the known vulnerability {self.identity}"


def look_up(pins: list[Pin], service: str = SERVICE) -> list[Found]:
    """The known vulnerabilities of each package and version.

    Raises:
        NotLookedUp: no answer, or none that can be understood.
    """
    different = list({(pin.ecosystem, pin.name, pin.version): pin for pin in pins}.values())
    found = []
    for start in range(0, len(different), _MOST_QUERIES):
        asked = different[start : start + _MOST_QUERIES]
        for pin, result in zip(asked, _ask(asked, service), strict=True):
            found += [Found(pin, str(one["id"])) for one in result.get("vulns") or []]
    return found


def _ask(pins: list[Pin], service: str) -> list[dict[str, list[dict[str, str]]]]:
    queries = [{"package": {"name": pin.name, "ecosystem": pin.ecosystem}, "version": pin.version} for pin in pins]
    host = service.partition("://")[2]
    try:
        answer = httpx2.post(f"{service}/v1/querybatch", json={"queries": queries}, timeout=_TIMEOUT_S)
        answer.raise_for_status()
        results = answer.json()["results"]
    except (httpx2.TransportError, OSError) as error:  # also a file of CAs that SSL_CERT_FILE names and is not there
        raise NotLookedUp(f"{host} unreachable ({error})") from error
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        raise NotLookedUp(f"{host} gave no answer that can be used ({error!r})") from error
    if len(results) != len(pins):
        raise NotLookedUp(f"{host} answered {len(results)} of {len(pins)} questions")
    return list(results)


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
