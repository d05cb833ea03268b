"""Images of servers by their names."""

from __future__ import annotations


def is_mariadb(image: str) -> bool:
    """Returns whether an image is MariaDB's, by the last part of its repository: mariadb, or mariadb-galera."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return name.partition("-")[0] == "mariadb"
