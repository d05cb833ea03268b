"""Images of servers by their names, and which of two versions may read the other's files."""

from collections.abc import Sequence

from nomad_stateful.databases.model import Problem

LONG_TERM = ((8, 4), (9, 7))
"""Of these series MySQL takes an older patch for the files of a newer one; of no other."""


def is_mariadb(image: str) -> bool:
    """Returns whether an image is MariaDB's, by the last part of its repository: mariadb, or mariadb-galera."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return name.partition("-")[0] == "mariadb"


def problem(image: str) -> Problem | None:
    """Returns why an image is not MySQL's."""
    if not is_mariadb(image):
        return None
    return Problem(
        "MySQL does not read MariaDB's files, and the jobs run MySQL's programs",
        "set an image of MySQL; a server of MariaDB is dumped by itself, and restored into MySQL on a new volume "
        "(docs/consumers.md#restore)",
    )


def files_problem(version: Sequence[int], of_files: Sequence[int]) -> Problem | None:
    """Returns why a version cannot read the files of another: it is too old."""
    if not _is_older(version, of_files):
        return None
    return Problem(
        "an older one cannot read what that wrote",
        "keep {image} or a newer one; to go back, dump with it and restore into a server of the older image on a new "
        "volume",
    )


def _is_older(version: Sequence[int], of_files: Sequence[int]) -> bool:
    if min(len(version), len(of_files)) < 2:
        return False
    if tuple(version[:2]) != tuple(of_files[:2]):
        return tuple(version[:2]) < tuple(of_files[:2])
    whole = len(version) == len(of_files) == 3
    return whole and tuple(version) < tuple(of_files) and tuple(of_files[:2]) not in LONG_TERM
