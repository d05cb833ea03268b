"""MySQL's versions, and which one may follow on the files of which.

A long-term series may be followed by the innovation releases after it and by the next long-term series, an innovation
release by later ones of the same cycle and by the long-term series that ends it; none is skipped. After 9.7 versions
are years and months, and say nothing of how long a series is kept up: MySQL itself decides among these.
https://dev.mysql.com/doc/refman/9.7/en/upgrade-paths.html
https://dev.mysql.com/doc/refman/26.7/en/mysql-releases.html
"""

import re

from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version

LONG_TERM = ((8, 0), (8, 4), (9, 7))
"""Series without a change of format, oldest first; 8.0 is kept up as one."""
_SAID = re.compile(r"\d{1,2}\.\d{1,2}\.\d{1,2}")
_FIRST_BY_DATE = (26, 7)


def of_server(said: str) -> Version:
    """Returns the version of a server by what its VERSION() is. Raises UpgradeRefusedError."""
    if "mariadb" in said.lower():
        raise UpgradeRefusedError(
            f"the server is MariaDB ({said}): it has versions and files of its own, and neither takes the other's. To "
            "change, dump, and restore into a server on a new volume (docs/consumers.md)"
        )
    found = _SAID.match(said)
    version = Version.parse(found[0], 3) if found else None
    if version is None:
        raise UpgradeRefusedError(f"the server says version {said}, which is no release of MySQL")
    return version


def wanted(text: str) -> Version:
    """Returns the version that was asked for. Raises UpgradeRefusedError."""
    version = Version.parse(text, 3)
    if version is None:
        raise UpgradeRefusedError(f"VERSION is {text}: it must be a whole version, such as 8.4.6")
    if not _exists(version):
        raise UpgradeRefusedError(
            f"VERSION is {text}: MySQL has no series {_text(series(version))}. They are 8.0 to 8.4, 9.0 to 9.7, "
            "and after it year and month, from 26.7"
        )
    return version


def refuse_path(before: Version, after: Version) -> None:
    """Raises UpgradeRefusedError where MySQL has no way from one version's files to the other."""
    if after < before:
        patch = ""
        if series(after) == series(before) and series(after) in LONG_TERM[1:]:
            patch = f" Within {_text(series(after))} MySQL allows it: set mysql.image, and run `pulumi up`."
        raise UpgradeRefusedError(
            f"VERSION is {after}: the server runs {before}, and an older one does not start on its files. To go back, "
            f"dump, and restore into a server of {after} on a new volume, or restore a snapshot from before the "
            f"upgrade (docs/volumes.md, Restore).{patch}"
        )
    if series(after) == series(before):
        return
    if not _exists(before):
        raise UpgradeRefusedError(f"the server runs {before}, a series that this release does not know")
    here, there = _cycle(series(before)), _cycle(series(after))
    follows = there == here + 1 if series(after) in LONG_TERM else there == here
    if follows:
        return
    following = _text(LONG_TERM[here + 1]) if here + 1 < len(LONG_TERM) else "a later one"
    raise UpgradeRefusedError(
        f"VERSION is {after}: from {before} MySQL goes to {following} first, and no long-term series is skipped. "
        f"Upgrade to the newest {following}, then again"
    )


def series(version: Version) -> tuple[int, int]:
    """Returns the part that stays the same for bug fixes."""
    return version[0], version[1]


def _exists(version: Version) -> bool:
    major, minor = series(version)
    if (major, minor) >= _FIRST_BY_DATE:
        return 1 <= minor <= 12
    return (major, minor) <= LONG_TERM[-1] and minor <= {8: 4, 9: 7}.get(major, -1)


def _cycle(of: tuple[int, int]) -> int:
    """Returns the place of the last long-term series that is not after this one."""
    return max(index for index, first in enumerate(LONG_TERM) if first <= of)


def _text(of: tuple[int, int]) -> str:
    return f"{of[0]}.{of[1]}"
