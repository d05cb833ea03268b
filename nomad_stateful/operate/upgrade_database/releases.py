"""MySQL's versions, and which one may follow on the files of which.

A long-term series may be followed by the innovation releases after it and by the next long-term series, an innovation
release by later ones of the same cycle and by the long-term series that ends it; none is skipped. After 9.7 versions
are years and months, and say nothing of how long a series is kept up: MySQL itself decides among these.
https://dev.mysql.com/doc/refman/9.7/en/upgrade-paths.html
https://dev.mysql.com/doc/refman/26.7/en/mysql-releases.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nomad_stateful.operate.errors import OperateError

LONG_TERM = ((8, 0), (8, 4), (9, 7))
"""Series without a change of format, oldest first; 8.0 is kept up as one."""
_VERSION = re.compile(r"(?P<major>\d{1,2})\.(?P<minor>\d{1,2})\.(?P<patch>\d{1,2})")
_FIRST_BY_DATE = (26, 7)


class MysqlUpgradeRefusedError(OperateError):
    """The upgrade cannot be done; nothing was changed."""

    exit_status = 4


@dataclass(frozen=True, order=True)
class Version:
    """A version of MySQL."""

    major: int
    minor: int
    patch: int

    @property
    def series(self) -> tuple[int, int]:
        """The part that stays the same for bug fixes."""
        return self.major, self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse(text: str) -> Version | None:
    """Returns the version that a text is, None where it is none."""
    found = _VERSION.fullmatch(text)
    return Version(int(found["major"]), int(found["minor"]), int(found["patch"])) if found else None


def of_server(said: str) -> Version:
    """Returns the version of a server by what its VERSION() is. Raises MysqlUpgradeRefusedError."""
    if "mariadb" in said.lower():
        raise MysqlUpgradeRefusedError(
            f"the server is MariaDB ({said}): it has versions and files of its own, and neither takes the other's. To "
            "change, dump, and restore into a server on a new volume (docs/consumers.md)"
        )
    found = _VERSION.match(said)
    if found is None:
        raise MysqlUpgradeRefusedError(f"the server says version {said}, which is no release of MySQL")
    return Version(int(found["major"]), int(found["minor"]), int(found["patch"]))


def wanted(text: str) -> Version:
    """Returns the version that was asked for. Raises MysqlUpgradeRefusedError."""
    version = parse(text)
    if version is None:
        raise MysqlUpgradeRefusedError(f"VERSION is {text}: it must be a whole version, such as 8.4.6")
    if not _exists(version):
        raise MysqlUpgradeRefusedError(
            f"VERSION is {text}: MySQL has no series {version.major}.{version.minor}. They are 8.0 to 8.4, 9.0 to 9.7, "
            "and after it year and month, from 26.7"
        )
    return version


def refuse_path(before: Version, after: Version) -> None:
    """Raises MysqlUpgradeRefusedError where MySQL has no way from one version's files to the other."""
    if after < before:
        patch = ""
        if after.series == before.series and after.series in LONG_TERM[1:]:
            patch = f" Within {_text(after.series)} MySQL allows it: set mysql.image, and run `pulumi up`."
        raise MysqlUpgradeRefusedError(
            f"VERSION is {after}: the server runs {before}, and an older one does not start on its files. To go back, "
            f"dump, and restore into a server of {after} on a new volume, or restore a snapshot from before the "
            f"upgrade (docs/volumes.md, Restore).{patch}"
        )
    if after.series == before.series:
        return
    if not _exists(before):
        raise MysqlUpgradeRefusedError(f"the server runs {before}, a series that this release does not know")
    here, there = _cycle(before.series), _cycle(after.series)
    follows = there == here + 1 if after.series in LONG_TERM else there == here
    if follows:
        return
    following = _text(LONG_TERM[here + 1]) if here + 1 < len(LONG_TERM) else "a later one"
    raise MysqlUpgradeRefusedError(
        f"VERSION is {after}: from {before} MySQL goes to {following} first, and no long-term series is skipped. "
        f"Upgrade to the newest {following}, then again"
    )


def _exists(version: Version) -> bool:
    if version.series >= _FIRST_BY_DATE:
        return 1 <= version.minor <= 12
    return version.series <= LONG_TERM[-1] and version.minor <= {8: 4, 9: 7}.get(version.major, -1)


def _cycle(series: tuple[int, int]) -> int:
    """Returns the place of the last long-term series that is not after this one."""
    return max(index for index, first in enumerate(LONG_TERM) if first <= series)


def _text(series: tuple[int, int]) -> str:
    return f"{series[0]}.{series[1]}"
